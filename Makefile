# Needs Go, git and make; nothing else. `make` prints what there is.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Settings given on make's command line reach every command's environment, as ONCE, KEEP, LABEL and HOLDFAST_CACHE must.
# No C compiler is needed anywhere. RACE=1 turns the race detector on, which does need one.
export CGO_ENABLED := $(if $(RACE),1,0)

GO       ?= go
FUZZTIME ?= 20s
LABEL    ?=
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
ARCH     ?=
MUTATE   ?= sidecar/hold internal/binding

race      := $(if $(RACE),-race)
crds      := charts/holdfast/files/crds
rbac      := charts/holdfast/files/rbac
deepcopy  := api/v1alpha1/zz_generated.deepcopy.go
controller-gen := $(GO) tool -modfile=hack/tools/go.mod controller-gen
helm-docs      := $(GO) tool -modfile=$(CURDIR)/hack/chart/go.mod helm-docs --chart-search-root=charts --sort-values-order=file --log-level=warning
golangci-lint  := $(GO) tool -modfile=$(CURDIR)/hack/lint/go.mod golangci-lint

# Modules whose go.mod and go.sum must say exactly what their packages import. Those of test/cluster/kube and
# test/cluster/flux and fluxcli are not among them: they pin upstream mains, whose tests nobody here needs.
tidy-modules := . test test/chart test/page hack/tools hack/lint hack/mutate hack/chart hack/image
all-modules  := $(tidy-modules) test/cluster/kube test/cluster/flux test/cluster/fluxcli

# The test module's packages that need no running world. They look at the whole checkout, and the go command remembers a
# result only by what is in their own module; so nothing is remembered.
test-module-units = $$($(GO) -C test list ./... | grep -v -e '/test/cluster$$' -e '/test/api$$' -e '/test/e2e$$' -e '/test/facts$$' -e '/test/node' -e '/test/sim$$')

.PHONY: help
help: ## Print this help
	@echo 'Holdfast: edits made in a cluster reach Git under their author, and Flux applies one known commit at a time.'
	@echo
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)$$/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done
	@echo
	@echo 'Settings, given as make NAME=value or in the environment:'
	@echo '  ONCE=1             demo: end after the story, with exit 0 only if every step held'
	@echo '  LABEL=expression   test-e2e: only the stories whose labels fit, such as LABEL=flux or LABEL="!badinput"'
	@echo '  KEEP=1             leave the folder of a stopped world, with logs and repositories, and print where it is'
	@echo '  HOLDFAST_CACHE=dir where the real Kubernetes and Flux are built and kept (default: holdfast in your cache folder)'
	@echo '  FUZZTIME=20s       fuzz: how long for each target'
	@echo '  MUTANT=pattern     mutants: only those whose names match, such as MUTANT="simulated-*"'
	@echo '  MUTATE=packages    mutate: these instead of the cores, such as MUTATE=internal/binding'
	@echo '  REQUIRE_NODE=1     test-node: where no node can be started, fail instead of skipping'
	@echo '  RACE=1             test-unit, test-e2e, test-node: with the race detector; needs a C compiler'

.PHONY: demo
demo: ## Watch an edit go all the way round in a real cluster; then it is yours (ONCE=1 ends it)
	@echo '== the demo, against a real kube-apiserver and real Flux (the first run builds them)'
	@$(GO) -C test run ./demo

.PHONY: cluster
cluster: ## Start the real control plane and Flux alone, print KUBECONFIG and the log folder, run until interrupted
	@echo '== a real control plane with Flux, on loopback'
	@$(GO) -C test run ./cluster/cmd/cluster

.PHONY: test
test: test-unit test-e2e test-node ## All tests: test-unit, then test-e2e, then test-node

.PHONY: test-unit
test-unit: ## Tests that need no running world, the layer rule among them
	@echo '== unit tests of the product'
	@$(GO) test $(race) ./...
	@echo '== unit tests of the test module'
	@$(GO) -C test test $(race) -count=1 $(test-module-units)
	@echo '== unit tests of hack/mutate'
	@$(GO) -C hack/mutate test $(race) ./...
	@echo '== unit tests of hack/image'
	@$(GO) -C hack/image test $(race) -count=1 ./...
	@echo '== the chart, with helm'"'"'s own library'
	@$(GO) -C test/chart test -count=1 ./...
	@echo '== the simulator: every effect and crash point, and seeded runs'
	@$(GO) -C test test $(race) -count=1 -timeout 15m -v ./sim
	@echo '== the simulator notices each of its guards that is taken out'
	@$(GO) run ./hack/mutants -only 'simulated-*'

.PHONY: test-page
test-page: ## The status page in a real browser; needs Debian's chromium, or another named by HOLDFAST_CHROMIUM
	@echo '== the status page, in a browser without a window'
	@$(GO) -C test/page test $(race) -count=1 ./...

.PHONY: test-e2e
test-e2e: ## The kinds, the stories and the facts against the real kube-apiserver and real Flux (LABEL=… picks some, KEEP=1 leaves their folder)
	@echo '== real Kubernetes and Flux, built from their modules unless they are cached'
	@$(GO) -C test run ./cluster/cmd/cluster -build
	@test -n "$$LABEL" || { echo '== the world itself'; $(GO) -C test test $(race) -count=1 -timeout 15m -v ./cluster; }
	@test -n "$$LABEL" || { echo '== the kinds, the samples and kubectl'; $(GO) -C test test $(race) -count=1 -timeout 15m ./api; }
	@echo '== stories, and facts about the real controllers; each of three processes has a world of its own'
	@$(GO) -C test tool ginkgo run $(race) --procs=3 --timeout=75m --label-filter="$$LABEL" --silence-skips --no-color ./e2e ./facts

.PHONY: test-node
test-node: ## Stories with real pods on a real node; without root and containerd they are skipped, and say what is missing
	@echo '== real Kubernetes and Flux, built from their modules unless they are cached'
	@$(GO) -C test run ./cluster/cmd/cluster -build
	@echo '== a node with containerd and kubelet, images made from the checkout, and the chart'
	@$(GO) -C test test $(race) -count=1 -timeout 30m -v ./node/...

.PHONY: bench
bench: ## Measure the held cycle, an edit's way to Git, operations at once, pods made with the webhook, and a holder of 500: requests, memory, adoption
	@echo '== benchmarks against a real control plane and real Flux'
	@$(GO) -C test run ./bench

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME
	@echo '== every fuzz target, $(FUZZTIME) each'
	@grep -rlE --include='*_test.go' '^func Fuzz' api cli gitmirror injector internal sidecar hack | sort | while read -r file; do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
	    echo "== $$target in ./$$(dirname "$$file")"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" || exit 1; \
	  done; \
	done

.PHONY: mutants
mutants: ## Take lines of defence out one at a time and name the test that notices (MUTANT=pattern picks some)
	@echo '== mutants: each must be noticed by a test'
	@$(GO) run ./hack/mutants $(if $(MUTANT),-only '$(MUTANT)')

.PHONY: mutate
mutate: ## Change the operators of the cores one at a time; what no test notices must be argued in hack/mutants/SURVIVORS.md
	@echo '== gremlins: each mutant must be noticed by a test, or be listed'
	@$(GO) -C hack/mutate run . $(MUTATE)

.PHONY: lint
lint: ## golangci-lint on the product and the test modules (its first run compiles it, which takes minutes)
	@echo '== golangci-lint, the product'
	@$(golangci-lint) run
	@echo '== golangci-lint, the test modules'
	@cd test && $(golangci-lint) run --config ../.golangci.yml
	@cd test/chart && $(golangci-lint) run --config ../../.golangci.yml
	@cd test/page && $(golangci-lint) run --config ../../.golangci.yml

# generated writes CRDs, deep copies and roles; $(1), $(2) and $(3) are the folders for each.
generated = $(controller-gen) crd object paths=./api/... output:crd:dir=$(1) output:object:dir=$(2) && \
  $(controller-gen) rbac:roleName=holdfast-holder,fileName=holder.yaml paths=./sidecar/... output:rbac:dir=$(3) && \
  $(controller-gen) rbac:roleName=holdfast-gitmirror,fileName=gitmirror.yaml paths=./gitmirror/... output:rbac:dir=$(3) && \
  $(controller-gen) rbac:roleName=holdfast-injector,fileName=injector.yaml paths=./injector/... output:rbac:dir=$(3)

.PHONY: generate
generate: ## Write the CRDs, deep copies and roles again from the Go types and markers
	@echo '== controller-gen: $(crds), $(deepcopy), $(rbac)'
	@$(call generated,$(crds),$(dir $(deepcopy)),$(rbac))

.PHONY: chart
chart: ## Write the chart's README and the goldens of its renders again from its values and templates
	@echo '== helm-docs: charts/holdfast/README.md'
	@$(helm-docs)
	@echo '== test/chart/testdata'
	@$(GO) -C test/chart test . -update

.PHONY: verify
verify: verify-source ## Check generated files, formatting, vet, and every go.mod and go.sum; changes nothing
	@for module in $(tidy-modules); do echo "== go mod tidy -diff in $$module"; $(GO) -C $$module mod tidy -diff || exit 1; done
	@for module in $(all-modules); do echo "== go mod verify in $$module"; $(GO) -C $$module mod verify || exit 1; done

# The part of verify that looks at the source alone and downloads little; CI runs it with the tests.
.PHONY: verify-source
verify-source:
	@echo '== generated files are up to date'
	@new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && \
	  $(call generated,"$$new/crds","$$new","$$new/rbac") && \
	  diff -r $(crds) "$$new/crds" && diff $(deepcopy) "$$new/$(notdir $(deepcopy))" && diff -r $(rbac) "$$new/rbac" || \
	  { echo 'verify: generated files differ from the Go types and markers; run make generate' >&2; exit 1; }
	@echo '== the README of the chart is up to date'
	@$(helm-docs) --dry-run | diff charts/holdfast/README.md - || \
	  { echo 'verify: charts/holdfast/README.md differs from its values and template; run make chart' >&2; exit 1; }
	@echo '== gofmt'
	@files=$$(gofmt -l .) && test -z "$$files" || { echo 'verify: not formatted; run gofmt -w on these:' "$$files" >&2; exit 1; }
	@echo '== go vet'
	@$(GO) vet ./...
	@$(GO) -C test vet ./...
	@$(GO) -C test/chart vet ./...
	@$(GO) -C test/page vet ./...
	@$(GO) -C hack/image vet ./...

.PHONY: image
image: ## Make dist/holdfast-ARCH.tar, the image of all programs, and print its digest (VERSION=, ARCH=)
	@$(GO) -C hack/image run . -version='$(VERSION)' -arch='$(ARCH)'

.PHONY: build
build: ## Build bin/holder, bin/injector, bin/gitmirror and bin/holdfast
	@echo '== bin/holder'
	@$(GO) build -trimpath -o bin/holder ./sidecar
	@echo '== bin/injector'
	@$(GO) build -trimpath -o bin/injector ./injector
	@echo '== bin/gitmirror'
	@$(GO) build -trimpath -o bin/gitmirror ./gitmirror
	@echo '== bin/holdfast'
	@$(GO) build -trimpath -o bin/holdfast ./cli
