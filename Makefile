SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c

# Static binaries, and one build of each dependency for all targets but unit.
export CGO_ENABLED = 0

git        = $(shell TZ=UTC git $(1) 2>/dev/null)
VERSION   ?= $(call git,describe --tags --always --dirty --abbrev=12)
X         := -X github.com/prometheus/common/version
BRANCH     = $(call git,branch --show-current)
# The commit's date, so that the same commit gives the same binary.
LDFLAGS    = -s -w $(X).Version=$(VERSION:v%=%) $(X).Revision=$(call git,rev-parse HEAD) \
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

.PHONY: build demo test unit lint check-metrics check-rules contract-test prometheusrule check-chart chart image check-image lab-test lab-docs browser-test lab docs bench gobench fuzz fmt

build:
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(KUBEFLAP) ./cmd/kubeflap

demo:
	go run ./cmd/kubeflap demo

test: unit lint check-metrics check-rules check-chart contract-test browser-test lab-test

unit:
	CGO_ENABLED=1 go test -race ./...

lint: bin/golangci-lint
	$(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab/contract && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab/chart && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }
	cd lab/browser && $(CURDIR)/$< run || { echo 'what is only formatting, make fmt mends'; exit 1; }

check-metrics: build bin/promtool
	for f in exporter/tape/incidents/*.jsonl.gz; do $(KUBEFLAP) replay --once --log.level=error $$f | bin/promtool check metrics; done

check-rules: bin/promtool bin/amtool
	bin/promtool check rules --lint=all $(RULES)
	bin/promtool test rules rules/tests/*.yaml
	bin/amtool check-config rules/alertmanager.yaml

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

# A package of it, rules and dashboards included.
chart: bin/helm
	bin/helm package charts/kubeflap --destination bin

# For all ARCHES, as an archive. Needs buildah, no daemon. One after the other: their order is part of the digest.
image: $(ARCHES:%=bin/linux-%/kubeflap)
	store=$$(mktemp -d) && trap 'rm -rf $$store' EXIT && \
	b="buildah --root $$store/root --runroot $$store/run --storage-driver vfs" && \
	for arch in $(ARCHES); do \
		$$b build --quiet --isolation chroot --platform linux/$$arch --manifest kubeflap --identity-label=false --timestamp $(call git,log -1 --format=%ct) \
			--build-arg VERSION=$(VERSION:v%=%) --build-arg REVISION=$(call git,rev-parse HEAD) \
			--build-arg CREATED=$(call git,log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd) . || exit; done && \
	rm -f $(IMAGE) && $$b manifest push --all --quiet --digestfile $(IMAGE).digest kubeflap oci-archive:$(IMAGE)
	du -h $(IMAGE) && cat $(IMAGE).digest && echo

# Looks into the image, and builds it again: it must be the same.
check-image: image
	cd lab/chart && go test -count 1 ./image
	$(MAKE) image IMAGE=$(IMAGE).again
	cmp $(IMAGE).digest $(IMAGE).again.digest

# Neither the branch nor the state of the work tree is part of the commit.
bin/linux-%/kubeflap: BRANCH = HEAD
bin/linux-%/kubeflap: FORCE
	GOOS=linux GOARCH=$* go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubeflap
FORCE:

lab-test: bin/helm
	cd lab && go test -timeout 40m ./...

# Writes docs/causes.md from a run of all scenarios.
lab-docs:
	cd lab && go test -timeout 40m -count 1 -run TestScenarios . -update

# Needs Chromium. SCREENSHOTS=directory keeps what it sees.
browser-test:
	cd lab/browser && go test -count 1 ./...

# make lab SCENARIO=heartbeat-loss [SAVE=file] [PAGING=1] [KEEP=1]
lab: build
	cd lab && go run . run $(SCENARIO) --kubeflap $(KUBEFLAP) $(if $(SAVE),--save $(abspath $(SAVE))) \
		$(if $(PAGING),--rules $(CURDIR)/rules) $(if $(KEEP),--keep)

# Writes what is generated: the references in docs/ and the chart's README, the golden expositions, deploy/.
docs: bin/helm
	go test ./cmd/kubeflap ./exporter/metrics ./exporter/tape ./exporter/web -update
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
