SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
# Build static binaries. All targets except unit share one build of each dependency.
export CGO_ENABLED = 0
# Without this flag, Go compiles everything again for a clone in another directory.
export GOFLAGS += -trimpath

git        = $(shell TZ=UTC git $(1) 2>/dev/null)
# The latest tag and the distance to it. Without a tag, it still becomes a valid version, because the chart needs one.
DESCRIBED := $(call git,describe --tags --match 'v[0-9]*' --always --dirty --abbrev=12)
VERSION   ?= $(if $(DESCRIBED),$(if $(filter v%,$(DESCRIBED)),,v0.0.0-g)$(DESCRIBED))
NUMBER     = $(or $(VERSION:v%=%),$(error there is no git here to tell the version: make $(MAKECMDGOALS) VERSION=vX.Y.Z))
REVISION   = $(call git,rev-parse HEAD)
# All dates come from the commit, so that the same commit produces the same files.
STAMP      = $(or $(call git,log -1 --format=%ct),0)
BRANCH     = $(call git,branch --show-current)
LDFLAGS    = -s -w $(foreach x,Version=$(NUMBER) Revision=$(REVISION) Branch=$(BRANCH) \
	BuildDate=$(call git,log -1 --date=format-local:%Y%m%d-%H:%M:%S --format=%cd),-X github.com/prometheus/common/version.$(x))
RULES     := rules/nodes.yaml rules/services.yaml rules/kubeflap.yaml rules/fleet.yaml
ARCHES    ?= amd64 arm64
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
SIZES     ?= small medium
export IMAGE ?= bin/kubeflap-image.tar
# The builder in the provenance.
BUILDER   ?= https://github.com/kubeflap/kubeflap/blob/main/docs/supply-chain.md\#built-by-hand
MODULES   := $(dir $(wildcard go.mod */go.mod */*/go.mod))
# make test sets SHORT to -short, which leaves out what is too slow for each change.
SHORT     ?=
# Go's test cache ignores changes outside of the module. Beside the lab, tests take several times as long.
FRESH      = go test -count 1 -timeout 30m $(SHORT)
# The lab mostly waits, so these checks run beside it, at a lower priority. Two run at a time, because some use one core.
CHECKS    := unit lint check-rules check-chart contract-test browser-test

build: ## Build bin/kubeflap.
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/kubeflap ./cmd/kubeflap
help: ## Print this list.
	@sed -nE 's/^([a-z-]+):.* ## (.*)/\1\t\2/p' Makefile | expand -t 18
demo: ## Replay five recordings of incidents and serve them on localhost:9969. Needs only Go.
	@echo 'Building bin/kubeflap. The first build takes a minute.'
	@$(MAKE) --no-print-directory --silent build
	@bin/kubeflap demo
test: ## Run the checks that each change must pass. As root on Debian, also install the tools.
	tools/install.sh
	@$(MAKE) --no-print-directory check-all SHORT=-short
test-full: ## Run also what is too slow for each change: all scenarios, both Kubernetes releases, the image, the release and the kill test.
	tools/install.sh buildah
	@$(MAKE) --no-print-directory check-all SHORT= CHECKS='$(CHECKS) vulncheck check-release check-image'
	$(MAKE) lab-verdicts kill-test SHORT=
check-all:
	@$(MAKE) lab-test & lab=$$!; nice $(MAKE) --keep-going -j2 --output-sync=target $(CHECKS) || failed=1; wait $$lab && test -z "$${failed-}"
unit: ## Run the unit tests, the concurrent ones also with the race detector, and fuzz the tracker for a few seconds.
	go test -timeout 30m -parallel 8 $(SHORT) ./...
	CGO_ENABLED=1 go test -timeout 30m -race -short -parallel 8 $$(tools/concurrent.sh)
	go test -run '^$$' -fuzz '^FuzzApply$$' -fuzztime 5s ./exporter/track
lint: bin/golangci-lint ## Lint all modules.
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/$< run --allow-serial-runners) || bad="$${bad-} $$m"; done; test -z "$${bad-}" || { echo "lint:$$bad failed; make fmt corrects formatting"; exit 1; }
fmt: bin/golangci-lint ## Format all modules.
	for m in $(MODULES); do (cd $$m && $(CURDIR)/$< fmt); done
vulncheck: bin/govulncheck ## Check called code for known vulnerabilities. [VULNDB=URL] [VULNCHECK=required]
	tools/vulncheck.sh $(or $(VULNDB),https://vuln.go.dev) $(VULNCHECK)
check-rules: build bin/promtool bin/amtool ## Check metrics, rules and Alertmanager's messages with promtool and amtool.
	tools/check-rules.sh $(RULES)
contract-test: bin/promtool bin/amtool bin/helm bin/kubectl ## Check rules, dashboards and documents against kubeflap's metrics.
	cd lab/contract && $(FRESH) ./...
prometheusrule: ## Write the rules as a PrometheusRule. [OUT=file] [RUNBOOKS=URL] [PAGE=URL] [GRAFANA=URL]
	RUNBOOKS='$(RUNBOOKS)' PAGE='$(PAGE)' GRAFANA='$(GRAFANA)' tools/prometheusrule.sh $(or $(OUT),bin/prometheusrule.yaml) $(RULES)
check-chart: bin/helm bin/promtool ## Check the rendered chart, rejected values, its README and deploy/.
	bin/helm lint --strict --quiet charts/kubeflap
	cd lab/chart && $(FRESH) .
chart: bin/helm ## Package the chart.
	SOURCE_DATE_EPOCH=$(STAMP) bin/helm package charts/kubeflap --version '$(NUMBER)' --app-version '$(NUMBER)' --destination bin
image: $(ARCHES:%=bin/linux-%/kubeflap) ## Build the image for all ARCHES as an OCI archive. Needs buildah, but no daemon.
	ARCHES='$(ARCHES)' NUMBER='$(NUMBER)' REVISION=$(REVISION) STAMP=$(STAMP) tools/image.sh
check-image: image ## Check the image, and that a second build has the same digest.
	cd lab/chart && $(FRESH) ./image
	$(MAKE) image IMAGE=$(IMAGE).again
	cmp $(IMAGE).digest $(IMAGE).again.digest
sbom: bin/cyclonedx-gomod $(ARCHES:%=bin/linux-%/kubeflap) ## Write a CycloneDX SBOM for each binary.
	for f in $(ARCHES:%=bin/linux-%/kubeflap); do $< bin -json -std -noserial -notimestamp -version 'v$(NUMBER)' -output $$f.cdx.json $$f; done
plugin: $(PLATFORMS:%=bin/plugin/%/kubectl-flap) bin/release bin/validate-krew-manifest ## Package kubectl-flap for all PLATFORMS, and write its krew manifest bin/flap.yaml.
	bin/release plugin --release '$(NUMBER)' --platforms '$(PLATFORMS)'
	bin/validate-krew-manifest -skip-install -manifest bin/flap.yaml
provenance: image sbom chart plugin bin/release ## Write the provenance of the image, binaries, SBOMs, chart and plugin.
	bin/release provenance --release '$(NUMBER)' --arches '$(ARCHES)' --platforms '$(PLATFORMS)' --builder '$(BUILDER)'
publish: $(if $(REGISTRY),image chart bin/crane) ## Push the image and the chart to a registry, and print the Helm commands that install them. Needs buildah and a login. REGISTRY=host/path
	tools/publish.sh '$(or $(REGISTRY),$(error make publish needs REGISTRY=host/path, such as REGISTRY=registry.example.org/monitoring))' '$(NUMBER)'
check-release: bin/govulncheck bin/helm bin/cyclonedx-gomod bin/krew bin/validate-krew-manifest bin/crane ## Test the release tools with a copy of the work tree.
	cd release && $(FRESH) ./... && cd rehearsal && $(FRESH) .
release-check: bin/release ## Check that the tagged commit may be published.
	tools/release-check.sh '$(VERSION)' '$(PLATFORMS)'
lab-test: bin/helm bin/kubectl ## Run every scenario of the lab. [RELEASE=v1.31.0]
	cd lab && $(FRESH) -timeout 60m -parallel 10 $(if $(RELEASE),. -release $(RELEASE),./...)
lab-verdicts: ## Run the verdict scenarios that are too slow for lab-test. [RELEASE=v1.31.0]
	cd lab && $(FRESH) -timeout 60m -parallel 10 -run TestScenarios . -verdicts $(if $(RELEASE),-release $(RELEASE))
lab-record: ## Record every scenario again, with the facts that the unit tests compare. Only for a new release, scenario, resource or field.
	mkdir -p $(CURDIR)/bin/recordings
	cd lab && $(FRESH) -timeout 60m -parallel 8 -run TestScenarios . -record $(CURDIR)/bin/recordings
	cd lab && $(FRESH) -timeout 60m -parallel 8 -run TestScenarios . -verdicts -record $(CURDIR)/bin/recordings
lab-docs: ## Run all scenarios and write lab/causes.md.
	cd lab && $(FRESH) -timeout 60m -run TestScenarios . -update
lab: build ## Run one scenario. SCENARIO=name [RELEASE=v1.31.0] [SAVE=file] [PAGING=1] [KEEP=1]
	cd lab && go run . run $(SCENARIO) --kubeflap $(CURDIR)/bin/kubeflap $(if $(RELEASE),--release $(RELEASE)) $(if $(SAVE),--save $(abspath $(SAVE))) $(if $(PAGING),--rules $(CURDIR)/rules) $(if $(KEEP),--keep)
fleet-test: build bin/prometheus bin/thanos bin/golangci-lint ## Compare the alerts of a Thanos ruler for three clusters with those of each cluster's Prometheus. Takes 20 minutes.
	cd lab && $(CURDIR)/bin/golangci-lint run --build-tags fleet ./fleet && $(FRESH) -v -timeout 60m -tags fleet ./fleet
browser-test: ## Test the page with Chromium. [SCREENSHOTS=directory]
	cd lab/browser && $(FRESH) ./...
grafana-test: ## Check the dashboards against the types of Grafana 12 and 13. Needs Node.js and npm.
	cd lab/grafana && npm ci --prefer-offline --no-audit --no-fund --ignore-scripts && npm test --silent
screenshots: ## Take the screenshots in docs/images with Chromium.
	cd lab/browser && $(FRESH) -run Pictures . -update
docs: bin/helm ## Write all generated files: references, golden expositions, deploy/, and the chart's rules and dashboards.
	go test ./cmd/kubeflap ./exporter/metrics ./exporter/recording ./exporter/track ./exporter/web -update
	cd lab/chart && go test -run Fresh . -update
bench: build ## Run the benchmark on a real API server and write docs/performance.md. [SIZES=] [RUNS=] [RECORDER=] [PROFILE=]
	cd lab && go run . bench --kubeflap $(CURDIR)/bin/kubeflap --runs $(or $(RUNS),3) $(SIZES:%=--size %) $(if $(RECORDER),--recorder $(RECORDER)) $(if $(PROFILE),--profile $(abspath $(PROFILE)))
kill-test: ## Kill a process with --data.dir at random moments under churn, and check that no reported incident is lost. [KILLS=200]
	KUBEFLAP_KILLS=$(or $(KILLS),200) go test -count=1 -timeout 60m -run 'TestKill$$' -v ./cmd/kubeflap
gobench: $(if $(OLD),bin/benchstat) ## Run the Go benchmarks and write bin/bench.txt. [BENCH=regexp] [COUNT=10] [OLD=file to compare with]
	mkdir -p bin
	go test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),1) ./... | tee bin/bench.txt
	$(if $(OLD),bin/benchstat $(OLD) bin/bench.txt)

bin/release: FORCE
	cd release && go build -o $(CURDIR)/$@ .
# The branch and the state of the work tree are not part of the commit, so they must not be in the binary.
bin/linux-%/kubeflap: BRANCH = HEAD
bin/linux-%/kubeflap: FORCE
	GOOS=linux GOARCH=$* go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubeflap
bin/plugin/%/kubectl-flap: BRANCH = HEAD
bin/plugin/%/kubectl-flap: FORCE
	GOOS=$(*D) GOARCH=$(*F) go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubeflap
# Without this tag, promtool, Prometheus and Thanos include the clients of all clouds. They take longer to compile than everything else.
bin/%: tools/%.mod
	go build -trimpath -modfile $< -tags $(or $(TAGS),remove_all_sd) -o $@ tool
bin/prometheus: lab/paging/prometheus.mod
	go build -trimpath -modfile $< -tags remove_all_sd -o $@ tool
# Build Thanos like its own releases.
bin/thanos: TAGS = remove_all_sd,slicelabels
FORCE:
.PHONY: FORCE $(shell sed -nE 's/^([a-z-]+):.*/\1/p' Makefile)
