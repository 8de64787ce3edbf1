SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
# Static binaries, and one build of each dependency for all targets except unit.
export CGO_ENABLED = 0

git        = $(shell TZ=UTC git $(1) 2>/dev/null)
# The tag and the distance to it. Without a tag it is still a version, because the chart needs one.
DESCRIBED := $(call git,describe --tags --match 'v[0-9]*' --always --dirty --abbrev=12)
VERSION   ?= $(if $(DESCRIBED),$(if $(filter v%,$(DESCRIBED)),,v0.0.0-g)$(DESCRIBED))
NUMBER     = $(or $(VERSION:v%=%),$(error there is no git here to tell the version: make $(MAKECMDGOALS) VERSION=vX.Y.Z))
REVISION   = $(call git,rev-parse HEAD)
# Dates are the commit's, so that the same commit gives the same files.
STAMP      = $(or $(call git,log -1 --format=%ct),0)
BRANCH     = $(call git,branch --show-current)
LDFLAGS    = -s -w $(foreach x,Version=$(NUMBER) Revision=$(REVISION) Branch=$(BRANCH) \
	BuildDate=$(call git,log -1 --date=format-local:%Y%m%d-%H:%M:%S --format=%cd),-X github.com/prometheus/common/version.$(x))
RULES     := rules/nodes.yaml rules/services.yaml rules/pods.yaml rules/kubeflap.yaml
ARCHES    ?= amd64 arm64
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
SIZES     ?= small medium
export IMAGE ?= bin/kubeflap-image.tar
# Who builds, for the provenance.
BUILDER   ?= https://github.com/kubeflap/kubeflap/blob/main/docs/supply-chain.md\#built-by-hand
MODULES   := $(dir $(wildcard go.mod */go.mod */*/go.mod))
FRESH     := go test -count 1# because Go's cache does not see that files outside of a module change
# The lab waits more than it works: these run beside it, and give way to it.
CHECKS    := unit lint vulncheck check-rules check-chart check-release contract-test browser-test check-image

build: ## Build bin/kubeflap.
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/kubeflap ./cmd/kubeflap
help: ## Print this list.
	@sed -nE 's/^([a-z-]+):.* ## (.*)/\1\t\2/p' Makefile | expand -t 18
demo: ## Replay five recorded incidents and serve them on localhost:9969. Needs only Go.
	go run ./cmd/kubeflap demo
test: ## Run everything that a change must pass. On Debian, as root, install what that needs.
	tools/install.sh
	@$(MAKE) lab-test & lab=$$!; nice $(MAKE) --keep-going $(CHECKS) || failed=1; wait $$lab && test -z "$${failed-}"
unit: ## Run the unit tests, those with several goroutines with the race detector too, and try random events for a few seconds.
	go test ./...
	CGO_ENABLED=1 go test -race -short ./...
	go test -run '^$$' -fuzz '^FuzzApply$$' -fuzztime 5s ./exporter/track
lint: bin/golangci-lint ## Lint all modules.
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/$< run --allow-serial-runners) || bad="$${bad-} $$m"; done; test -z "$${bad-}" || { echo "lint:$$bad failed; make fmt corrects formatting"; exit 1; }
fmt: bin/golangci-lint ## Format all modules.
	for m in $(MODULES); do (cd $$m && $(CURDIR)/$< fmt); done
vulncheck: bin/govulncheck ## Look for known vulnerabilities in called code. [VULNDB=URL] [VULNCHECK=required]
	tools/vulncheck.sh $(or $(VULNDB),https://vuln.go.dev) $(VULNCHECK)
check-rules: build bin/promtool bin/amtool ## Check metrics, rules and messages with promtool and amtool.
	tools/check-rules.sh $(RULES)
contract-test: ## Check that rules, dashboards and documents use what kubeflap exposes.
	cd lab/contract && $(FRESH) ./...
prometheusrule: ## Write the rules as a PrometheusRule. [OUT=file] [RUNBOOKS=URL] [PAGE=URL] [GRAFANA=URL]
	RUNBOOKS='$(RUNBOOKS)' PAGE='$(PAGE)' GRAFANA='$(GRAFANA)' tools/prometheusrule.sh $(or $(OUT),bin/prometheusrule.yaml) $(RULES)
check-chart: bin/helm bin/promtool ## Check what the chart renders and refuses, its README and deploy/.
	bin/helm lint --strict --quiet charts/kubeflap
	cd lab/chart && $(FRESH) .
chart: bin/helm ## Package the chart.
	SOURCE_DATE_EPOCH=$(STAMP) bin/helm package charts/kubeflap --version '$(NUMBER)' --app-version '$(NUMBER)' --destination bin
image: $(ARCHES:%=bin/linux-%/kubeflap) ## Build the image for all ARCHES as an OCI archive. Needs buildah, but no daemon.
	ARCHES='$(ARCHES)' NUMBER='$(NUMBER)' REVISION=$(REVISION) STAMP=$(STAMP) tools/image.sh
check-image: image ## Look into the image, and build it again: the digest must be the same.
	cd lab/chart && $(FRESH) ./image
	$(MAKE) image IMAGE=$(IMAGE).again
	cmp $(IMAGE).digest $(IMAGE).again.digest
sbom: bin/cyclonedx-gomod $(ARCHES:%=bin/linux-%/kubeflap) ## Write the CycloneDX SBOM of each binary beside it.
	for f in $(ARCHES:%=bin/linux-%/kubeflap); do $< bin -json -std -noserial -notimestamp -version 'v$(NUMBER)' -output $$f.cdx.json $$f; done
plugin: $(PLATFORMS:%=bin/plugin/%/kubectl-flap) bin/release bin/validate-krew-manifest ## Pack kubectl-flap for all PLATFORMS, and write bin/flap.yaml, its manifest for krew.
	bin/release plugin --release '$(NUMBER)' --platforms '$(PLATFORMS)'
	bin/validate-krew-manifest -skip-install -manifest bin/flap.yaml
provenance: image sbom chart plugin bin/release ## Write from what and how image, binaries, SBOMs, chart and plugin were built.
	bin/release provenance --release '$(NUMBER)' --arches '$(ARCHES)' --platforms '$(PLATFORMS)' --builder '$(BUILDER)'
check-release: bin/govulncheck bin/helm bin/cyclonedx-gomod bin/krew bin/validate-krew-manifest ## Test the tools of a release: release a copy of the work tree, then spoil it.
	cd release && $(FRESH) ./...
release-check: bin/release ## Check everything that must hold before the tagged commit is published.
	tools/release-check.sh '$(VERSION)' '$(PLATFORMS)'
lab-test: bin/helm bin/controller-gen bin/kubectl ## Run every scenario of the lab. [RELEASE=v1.31.0]
	cd lab && $(FRESH) -timeout 60m -parallel 10 $(if $(RELEASE),. -release $(RELEASE),./...)
lab-verdicts: ## Run the scenarios of verdicts that lab-test has no time for. [RELEASE=v1.31.0]
	cd lab && $(FRESH) -timeout 60m -parallel 10 -run TestScenarios . -verdicts $(if $(RELEASE),-release $(RELEASE))
lab-docs: ## Write docs/causes.md from a run of all scenarios.
	cd lab && $(FRESH) -timeout 60m -run TestScenarios . -update
lab: build ## Run one scenario. SCENARIO=name [RELEASE=v1.31.0] [SAVE=file] [PAGING=1] [KEEP=1]
	cd lab && go run . run $(SCENARIO) --kubeflap $(CURDIR)/bin/kubeflap $(if $(RELEASE),--release $(RELEASE)) $(if $(SAVE),--save $(abspath $(SAVE))) $(if $(PAGING),--rules $(CURDIR)/rules) $(if $(KEEP),--keep)
browser-test: ## Look at the page with Chromium. [SCREENSHOTS=folder]
	cd lab/browser && $(FRESH) ./...
screenshots: ## Take the pictures of the page in docs/images with Chromium.
	cd lab/browser && $(FRESH) -run Pictures . -update
docs: bin/helm ## Write what is generated: references, golden expositions, deploy/, rules and dashboards of the chart.
	go test ./cmd/kubeflap ./exporter/metrics ./exporter/recording ./exporter/web -update
	cd lab/chart && go test -run Fresh . -update
bench: build ## Measure kubeflap on a real API server and write docs/performance.md. [SIZES=] [RUNS=] [GROWTH=] [CHURN=] [PROFILE=]
	cd lab && go run . bench --kubeflap $(CURDIR)/bin/kubeflap --runs $(or $(RUNS),3) $(SIZES:%=--size %) $(if $(GROWTH),--growth $(GROWTH)) $(if $(CHURN),--churn $(CHURN)) $(if $(PROFILE),--profile $(abspath $(PROFILE)))
gobench: $(if $(OLD),bin/benchstat) ## Run the Go benchmarks into bin/bench.txt. [BENCH=regexp] [COUNT=10] [OLD=file to compare with]
	mkdir -p bin
	go test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),1) ./... | tee bin/bench.txt
	$(if $(OLD),bin/benchstat $(OLD) bin/bench.txt)

bin/release: FORCE
	cd release && go build -o $(CURDIR)/$@ .
# Neither the branch nor the state of the work tree is part of the commit.
bin/linux-%/kubeflap: BRANCH = HEAD
bin/linux-%/kubeflap: FORCE
	GOOS=linux GOARCH=$* go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubeflap
bin/plugin/%/kubectl-flap: BRANCH = HEAD
bin/plugin/%/kubectl-flap: FORCE
	GOOS=$(*D) GOARCH=$(*F) go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubeflap
# Without the tag promtool compiles the clients of every cloud, which takes longer than all the rest.
bin/%: tools/%.mod
	go build -trimpath -modfile $< -tags remove_all_sd -o $@ tool
FORCE:
.PHONY: FORCE $(shell sed -nE 's/^([a-z-]+):.*/\1/p' Makefile)
