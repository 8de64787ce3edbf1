SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
# Build static binaries. Without -trimpath, Go compiles everything again for a clone in another directory.
export CGO_ENABLED = 0
export GOFLAGS += -trimpath
git       = $(shell TZ=UTC git $(1) 2>/dev/null)
# The latest tag and the distance to it. Without a tag, it still becomes a valid version, because the chart needs one.
VERSION  ?= $(or $(call git,describe --tags --match 'v[0-9]*' --dirty --abbrev=12),$(addprefix v0.0.0-g,$(call git,describe --always --dirty --exclude '*' --abbrev=12)))
NUMBER    = $(or $(VERSION:v%=%),$(error there is no git here to tell the version: make $(MAKECMDGOALS) VERSION=vX.Y.Z))
REVISION  = $(call git,rev-parse HEAD)
# All dates come from the commit, so that the same commit produces the same files.
STAMP     = $(or $(call git,log -1 --format=%ct),0)
DATE      = $(call git,log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
LDFLAGS   = -s -w $(foreach x,Version=$(NUMBER) Revision=$(REVISION) Branch=HEAD BuildDate=$(DATE),-X github.com/prometheus/common/version.$(x))
RULES    := rules/nodes.yaml rules/services.yaml rules/kubeflap.yaml rules/fleet.yaml
# Go's test cache ignores changes outside of the module. SHORT is -short in make test: it leaves out what is too slow for each change.
FRESH     = go test -count 1 -timeout 60m $(SHORT)
# The lab mostly waits, so these checks run beside it, at a lower priority. Two run at a time, because some use one core.
CHECKS   := unit lint check-rules check-chart contract-test browser-test
build: ## Build bin/kubeflap.
	@echo 'Building bin/kubeflap: the first time, this takes a minute.'; go build -ldflags '$(LDFLAGS)' -o bin/kubeflap ./cmd/kubeflap
help: ## Print this list.
	@sed -nE 's/^([a-z-]+):.* ## (.*)/\1\t\2/p' Makefile | expand -t 18
demo: build ## Replay five recordings of incidents and serve them on localhost:9969. Needs only Go. The first build takes a minute.
	@bin/kubeflap demo
test: ## Run the checks that each change must pass. As root on Debian, also install the tools.
	tools/install.sh
	@$(MAKE) --no-print-directory check-all SHORT=-short
test-full: ## Run also what is too slow for each change: all scenarios, both Kubernetes releases, two snapshot releases and 200 kills.
	tools/install.sh buildah
	@$(MAKE) --no-print-directory check-all SHORT= CHECKS='$(CHECKS) vulncheck check-release'
	$(MAKE) lab-test SHORT= SCENARIOS=-verdicts
check-all: bin/helm bin/kubectl bin/prometheus # so that the two makes do not both write them
	@$(MAKE) lab-test & lab=$$!; nice $(MAKE) --keep-going -j2 --output-sync=target $(CHECKS) || failed=1; wait $$lab && test -z "$${failed-}"
# Fuzzing for a time instead of a number of runs can fail when the time is up, if the machine is busy (Go before 1.27).
unit: ## Run the unit tests, the concurrent ones also with the race detector, and fuzz the tracker for a few seconds.
	go test -timeout 30m -parallel 8 $(SHORT) ./...
	CGO_ENABLED=1 go test -timeout 30m -race -short -parallel 8 $$(tools/concurrent.sh)
	go test -run '^$$' -fuzz '^FuzzApply$$' -fuzztime 10000x ./exporter/track
lint: bin/golangci-lint ## Lint all modules. [DO=fmt] formats them.
	@for m in $(dir $(filter-out tools/%,$(wildcard go.mod */go.mod */*/go.mod))); do (cd $$m && $(CURDIR)/$< $(or $(DO),run --allow-serial-runners)) || bad="$${bad-} $$m"; done; test -z "$${bad-}" || { echo "lint:$$bad failed; make lint DO=fmt corrects formatting"; exit 1; }
vulncheck: bin/govulncheck ## Check called code for known vulnerabilities. [VULNDB=URL] [VULNCHECK=required]
	tools/vulncheck.sh $(or $(VULNDB),https://vuln.go.dev) $(VULNCHECK)
check-rules: build bin/promtool bin/amtool ## Check metrics, rules and Alertmanager's messages with promtool and amtool.
	tools/check-rules.sh $(RULES)
contract-test: build bin/promtool bin/amtool bin/helm bin/kubectl ## Check rules, dashboards and documents against kubeflap's metrics.
	cd lab/contract && $(FRESH) ./...
prometheusrule: ## Write the rules as a PrometheusRule. [OUT=file] [RUNBOOKS=URL] [PAGE=URL] [GRAFANA=URL]
	RUNBOOKS='$(RUNBOOKS)' PAGE='$(PAGE)' GRAFANA='$(GRAFANA)' tools/prometheusrule.sh '$(or $(OUT),bin/prometheusrule.yaml)' $(RULES)
check-chart: bin/helm bin/promtool ## Check the rendered chart, rejected values, its README and deploy/.
	cd lab/chart && $(FRESH) .
# The chart in the tree has no copies of the rules and dashboards.
bin/chart:
	@rm -rf $@ && mkdir -p $@ && cp -R charts/kubeflap $@ && mkdir $@/kubeflap/rules $@/kubeflap/dashboards
	@cp $(RULES) $@/kubeflap/rules && cp dashboards/*.json $@/kubeflap/dashboards
chart: bin/helm bin/chart ## Package the chart with the rules and dashboards. [SIGN_KEY=fingerprint of your key in the release, for Artifact Hub]
	@rm -f bin/kubeflap-*.tgz
	sed 's|\(image: .*:\)v[0-9].*|\1v$(NUMBER)|' charts/kubeflap/Chart.yaml >bin/chart/kubeflap/Chart.yaml
	$(if $(SIGN_KEY),printf '  artifacthub.io/signKey: |\n    fingerprint: %s\n    url: https://github.com/kubeflap/kubeflap/releases/latest/download/signing-key.asc\n' $(SIGN_KEY) >>bin/chart/kubeflap/Chart.yaml)
	SOURCE_DATE_EPOCH=$(STAMP) bin/helm package bin/chart/kubeflap --version '$(NUMBER)' --app-version '$(NUMBER)' --destination bin
image: ## Build the image with buildah, and write it to bin/kubeflap-image.tar or push it. [REGISTRY=HOST/PATH] [ARCHES=amd64]
	rm -f bin/kubeflap-image.digest; buildah manifest rm kubeflap:v$(NUMBER) 2>/dev/null || true
	for arch in $(or $(ARCHES),amd64 arm64); do GOOS=linux GOARCH=$$arch go build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/linux/$$arch/kubeflap ./cmd/kubeflap; \
		buildah build --quiet --platform linux/$$arch --manifest kubeflap:v$(NUMBER) --timestamp $(STAMP) --identity-label=false \
			--build-arg VERSION=$(NUMBER) --build-arg REVISION=$(REVISION) --build-arg CREATED=$(DATE) .; done
	buildah manifest push --all --quiet --digestfile bin/kubeflap-image.digest kubeflap:v$(NUMBER) $(if $(REGISTRY),docker://$(REGISTRY)/kubeflap:v$(NUMBER),oci-archive:bin/kubeflap-image.tar)
	@test -s bin/kubeflap-image.digest && echo "kubeflap:v$(NUMBER)@$$(<bin/kubeflap-image.digest)" || { echo 'buildah could not push the image' >&2; exit 1; }
release-snapshot: bin/goreleaser bin/syft bin/helm ## Build all files of a release into dist/, and the image, but publish nothing.
	PATH="$(CURDIR)/bin:$$PATH" bin/goreleaser release --snapshot --clean
	$(MAKE) image VERSION=v$$(sed -E 's/.*"version":"([^"]*)".*/\1/' dist/metadata.json)
check-release: bin/goreleaser bin/syft bin/helm bin/validate-krew-manifest ## Build a snapshot release twice, and check its files.
	cd lab/release && $(FRESH) .
lab-test: bin/helm bin/kubectl bin/prometheus ## Run all scenarios of the lab but the slowest. [RELEASE=v1.31.0] [SCENARIOS=-verdicts] runs those.
	cd lab && $(FRESH) -parallel 10 $(if $(SCENARIOS)$(RELEASE),$(if $(SCENARIOS),-run TestScenarios) . $(SCENARIOS) $(if $(RELEASE),-release $(RELEASE)),./...)
lab: bin/kubectl bin/prometheus ## Run one scenario. SCENARIO=name [RELEASE=v1.31.0] [RECORD=directory] [SEED=number] [KEEP=1]
	cd lab && go test -count 1 -timeout 0 -v -run TestScenarios . -scenario $(SCENARIO) $(if $(RELEASE),-release $(RELEASE)) $(if $(RECORD),-record $(abspath $(RECORD))) $(if $(SEED),-seed $(SEED)) $(if $(KEEP),-keep)
fleet-test: build bin/golangci-lint bin/prometheus ## Compare the alerts of a Thanos ruler for three clusters with those of each cluster's Prometheus. Takes 20 minutes.
	cd lab && $(CURDIR)/bin/golangci-lint run --build-tags fleet ./fleet && $(FRESH) -v -tags fleet ./fleet
browser-test: ## Test the page with Chromium. SCREENSHOTS=directory saves what it looks like.
	cd lab/browser && $(FRESH) ./...
docs: bin/helm ## Write all generated files: references, golden expositions, deploy/, and the chart's README.
	go test ./cmd/kubeflap ./exporter/metrics ./exporter/recording ./exporter/track ./exporter/web -update
	cd lab/chart && go test -run Fresh . -update
bench: build ## Run the benchmark on a real API server and write docs/performance.md. [SIZES=] [RUNS=] [RECORDER=]
	cd lab && go run ./bench --kubeflap $(CURDIR)/bin/kubeflap --runs $(or $(RUNS),3) $(patsubst %,--size %,$(or $(SIZES),$(if $(RECORDER),,small medium))) $(if $(RECORDER),--recorder $(RECORDER))
# Without this tag, promtool and Prometheus include the clients of all clouds. They take longer to compile than everything else.
bin/%: tools/go.mod
	go build -modfile $< -tags remove_all_sd -o $@ $$(sed -nE 's#^\t(.*/$*(/v[0-9]+)?)$$#\1#p' $<)
.PHONY: bin/chart $(shell sed -nE 's/^([a-z-]+):.*/\1/p' Makefile)
