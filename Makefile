SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c

# Static binaries, and one build of each dependency for all targets but unit.
export CGO_ENABLED = 0

git        = $(shell TZ=UTC git $(1) 2>/dev/null)
# The tag, and how far behind HEAD it lies. Without one it is a version all the same, which the chart needs.
DESCRIBED := $(call git,describe --tags --match 'v[0-9]*' --always --dirty --abbrev=12)
VERSION   ?= $(if $(DESCRIBED),$(if $(filter v%,$(DESCRIBED)),,v0.0.0-g)$(DESCRIBED))
# Without git (an archive of the sources) it is to be given.
NUMBER     = $(or $(VERSION:v%=%),$(error there is no git here to tell the version: make $(MAKECMDGOALS) VERSION=vX.Y.Z))
STAMP      = $(or $(call git,log -1 --format=%ct),0)
X         := -X github.com/prometheus/common/version
BRANCH     = $(call git,branch --show-current)
# The commit's date, so that the same commit gives the same binary.
LDFLAGS    = -s -w $(X).Version=$(NUMBER) $(X).Revision=$(call git,rev-parse HEAD) \
             $(X).Branch=$(BRANCH) \
             $(X).BuildDate=$(call git,log -1 --date=format-local:%Y%m%d-%H:%M:%S --format=%cd)
KUBEFLAP  := $(CURDIR)/bin/kubeflap
BENCH     ?= .
COUNT     ?= 1
SIZES     ?= small medium
RUNS      ?= 3
FUZZTIME  ?= 10s
RULES     := rules/nodes.yaml rules/services.yaml rules/pods.yaml rules/kubeflap.yaml
# What the links in alerts begin with: make prometheusrule GRAFANA=https://... writes your own.
RUNBOOKS  ?= https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/
PAGE      ?= https://kubeflap.example.com
GRAFANA   ?= https://grafana.example.com
OUT       ?= bin/prometheusrule.yaml
ARCHES    ?= amd64 arm64
IMAGE     ?= bin/kubeflap-image.tar
# reachable: without its database the check is left out, and says so. required: that is an error.
VULNCHECK ?= reachable
VULNDB    ?= https://vuln.go.dev
# Who builds, in the provenance.
BUILDER   ?= https://github.com/kubeflap/kubeflap/blob/main/docs/supply-chain.md\#built-by-hand

.PHONY: build demo test unit lint vulncheck check-metrics check-rules contract-test prometheusrule check-chart chart image check-image \
	sbom provenance check-release rehearse-release release-check lab-test lab-docs browser-test lab docs bench gobench fuzz fmt

build:
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(KUBEFLAP) ./cmd/kubeflap

demo:
	go run ./cmd/kubeflap demo

test: unit lint vulncheck check-metrics check-rules check-chart check-release contract-test browser-test lab-test

# No counter may go down whatever comes: that is tried with other events each time, for a few seconds.
unit:
	CGO_ENABLED=1 go test -race ./...
	go test -run '^$$' -fuzz '^FuzzApply$$' -fuzztime 5s ./exporter/track

lint: bin/golangci-lint
	$(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab/contract && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab/chart && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab/browser && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd release && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }

# What is known of the modules, as far as kubeflap calls it.
vulncheck: bin/release bin/govulncheck
	bin/release vulncheck --when=$(VULNCHECK) --db=$(VULNDB)

check-metrics: build bin/promtool
	for f in exporter/recording/incidents/*.jsonl.gz cmd/kubeflap/testdata/hostile/*.jsonl.gz; do $(KUBEFLAP) replay --once --log.level=error $$f | bin/promtool check metrics; done

check-rules: bin/promtool bin/amtool
	bin/promtool check rules --lint=all $(RULES)
	bin/promtool test rules rules/tests/*.yaml
	bin/amtool check-config rules/alertmanager.yaml
	bin/amtool template render --template.glob=rules/alertmanager.tmpl --template.data=rules/tests/hostile-message.json \
		--template.text='{{ template "kubeflap.title" . }} {{ template "kubeflap.text" . }}' | diff rules/tests/hostile-message.txt -

# Rules, dashboards and their documents against what kubeflap exposes. Not cached: Go does not see
# that files outside of the module change.
contract-test:
	cd lab/contract && go test -count 1 ./...

# The rules as an object of the Prometheus Operator.
prometheusrule:
	mkdir -p $(dir $(OUT))
	(printf '%s\n' 'apiVersion: monitoring.coreos.com/v1' 'kind: PrometheusRule' 'metadata:' '  name: kubeflap' 'spec:' '  groups:'; \
		for f in $(RULES); do sed '1,/^groups:/d; s/^./  &/' $$f; done) | \
		sed 's|https://github.com/kubeflap/kubeflap/blob/main/rules/runbooks/|$(RUNBOOKS)|; s|https://kubeflap.example.com|$(PAGE)|; s|https://grafana.example.com|$(GRAFANA)|' >$(OUT)

# What the chart renders and refuses, its README and deploy/. Not cached, as above.
check-chart: bin/helm bin/promtool
	bin/helm lint --strict --quiet charts/kubeflap
	cd lab/chart && go test -count 1 .

# A package of it, rules and dashboards included. The same commit gives the same one.
chart: bin/helm
	SOURCE_DATE_EPOCH=$(STAMP) bin/helm package charts/kubeflap --version '$(NUMBER)' --app-version '$(NUMBER)' --destination bin

# For all ARCHES, as an archive. Needs buildah, no daemon. One after the other: their order is part of the digest.
image: $(ARCHES:%=bin/linux-%/kubeflap)
	store=$$(mktemp -d) && trap 'rm -rf $$store' EXIT && \
	b="buildah --root $$store/root --runroot $$store/run --storage-driver vfs" && \
	for arch in $(ARCHES); do \
		$$b build --quiet --isolation chroot --platform linux/$$arch --manifest kubeflap --identity-label=false --timestamp $(STAMP) \
			--build-arg VERSION=$(NUMBER) --build-arg REVISION=$(call git,rev-parse HEAD) \
			--build-arg CREATED=$$(date -u -d @$(STAMP) +%Y-%m-%dT%H:%M:%SZ) . || exit; done && \
	rm -f $(IMAGE) && $$b manifest push --all --quiet --digestfile $(IMAGE).digest kubeflap oci-archive:$(IMAGE)
	du -h $(IMAGE) && cat $(IMAGE).digest && echo

# Looks into the image, and builds it again: it must be the same.
check-image: image
	cd lab/chart && go test -count 1 ./image
	$(MAKE) image IMAGE=$(IMAGE).again
	cmp $(IMAGE).digest $(IMAGE).again.digest

# What is in the binary, and so in the image around it: CycloneDX, beside each binary.
sbom: $(ARCHES:%=bin/linux-%/kubeflap) bin/release
	for arch in $(ARCHES); do bin/release sbom --release '$(NUMBER)' bin/linux-$$arch/kubeflap; done

# From what and how the binaries, the image and the chart were built: an in-toto statement, not signed.
provenance: image sbom chart bin/release
	bin/release provenance --release '$(NUMBER)' --arches '$(ARCHES)' --builder '$(BUILDER)'

# The tools of a release. Not cached: Go does not see that files outside of the module change.
check-release: bin/govulncheck bin/release
	cd release && go test -count 1 .

# A release of a copy of the work tree, and one that is wrong throughout. Needs buildah.
rehearse-release: bin/helm bin/release
	cd release && go test -count 1 ./rehearsal

# Everything that must hold before the tagged commit is published, and names what does not.
release-check: bin/release
	bin/release check-tag --release '$(VERSION)'
	$(MAKE) docs
	@test -z "$$(git status --porcelain)" || { git status --short; echo 'release: make docs changes these: commit what it writes, and tag that' >&2; exit 1; }
	$(MAKE) vulncheck VULNCHECK=required
	$(MAKE) check-image provenance
	bin/release check-artefacts --release '$(VERSION)'
	@echo '$(VERSION) is fit for release'

bin/release: FORCE
	cd release && go build -o $(CURDIR)/$@ .

# Neither the branch nor the state of the work tree is part of the commit.
bin/linux-%/kubeflap: BRANCH = HEAD
bin/linux-%/kubeflap: FORCE
	GOOS=linux GOARCH=$* go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubeflap
FORCE:

# make lab-test RELEASE=v1.31.0: everything on that version of Kubernetes.
lab-test: bin/helm bin/controller-gen
	cd lab && go test -timeout 60m -parallel 4 $(if $(RELEASE),-count 1 . -release $(RELEASE),./...)

# Writes docs/causes.md from a run of all scenarios.
lab-docs:
	cd lab && go test -timeout 60m -count 1 -run TestScenarios . -update

# Needs Chromium. SCREENSHOTS=directory keeps what it sees.
browser-test:
	cd lab/browser && go test -count 1 ./...

# make lab SCENARIO=heartbeat-loss [RELEASE=v1.31.0] [SAVE=file] [PAGING=1] [KEEP=1]
lab: build
	cd lab && go run . run $(SCENARIO) --kubeflap $(KUBEFLAP) $(if $(RELEASE),--release $(RELEASE)) $(if $(SAVE),--save $(abspath $(SAVE))) \
		$(if $(PAGING),--rules $(CURDIR)/rules) $(if $(KEEP),--keep)

# Writes what is generated: the references in docs/ and the chart's README, the golden expositions, deploy/.
docs: bin/helm
	go test ./cmd/kubeflap ./exporter/metrics ./exporter/recording ./exporter/web -update
	cd lab/chart && go test -run Fresh . -update

# make bench [SIZES="small medium large"] [RUNS=3] [GROWTH=medium] [CHURN=1h] [PROFILE=folder]: writes docs/performance.md and its pictures.
# SIZES= measures none of them, PROFILE keeps profiles of kubeflap at these instead. Everything else that runs on the machine is in the figures.
bench: build
	cd lab && go run . bench --kubeflap $(KUBEFLAP) --runs $(RUNS) $(SIZES:%=--size %) \
		$(if $(GROWTH),--growth $(GROWTH)) $(if $(CHURN),--churn $(CHURN)) \
		$(if $(PROFILE),--profile $(abspath $(PROFILE)))

# make gobench [BENCH=regexp] [COUNT=10] [OLD=file]: OLD is an earlier bin/bench.txt to compare with
gobench: $(if $(OLD),bin/benchstat)
	mkdir -p bin
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... | tee bin/bench.txt
	$(if $(OLD),bin/benchstat $(OLD) bin/bench.txt)

fuzz:
	grep -roE --include='*_test.go' '^func Fuzz\w+' cmd exporter | sed -E 's|/[^/]*:func | |' | while read -r dir name; do \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) ./$$dir; done

fmt: bin/golangci-lint
	$< fmt

# Without the tag promtool compiles the clients of every cloud, which takes longer than all the rest.
bin/%: tools/%.mod
	go build -modfile $< -tags remove_all_sd -o $@ tool
