# The verbs of the checkout. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run build attack deploy-test manifests helm prometheus deploy undeploy image push sbom release push-chart vuln test lint unit features mutate count faults fault-bugs releases bench soak latency cluster cluster-down clean

CACHE  := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/k8s-cli
NODES  ?= kubelet
LOCAL   = go -C deploy/local run .
STATE  := $(CURDIR)/.local

LINT_VERSION := v2.15.0
LINT         := $(CACHE)/golangci-lint-$(LINT_VERSION)/golangci-lint

ACTIONLINT_VERSION := v1.7.12
ACTIONLINT         := $(CACHE)/actionlint-$(ACTIONLINT_VERSION)/actionlint

HELM_VERSION := v3.22.0
HELM         := $(CACHE)/helm-$(HELM_VERSION)/helm

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

run: build ## quick start: cluster, server, first task and its log
	@deploy/try.sh

build: ## bin/k8s-cli and bin/k8s-cli-server
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/ ./cmd/...

IMAGE     ?= k8s-cli.local/server:dev
PLATFORMS ?= linux/amd64,linux/arm64
MAKE_IMAGE = go -C deploy/image run .

image: ## bin/k8s-cli-image.tar, an OCI archive, and its contents as SPDX, without a container engine; IMAGE=name:tag, PLATFORMS=
	@mkdir -p bin
	@$(MAKE_IMAGE) archive --name $(IMAGE) --platforms $(PLATFORMS) --out $(CURDIR)/bin/k8s-cli-image.tar

push: ## build the image and send it to the registry that IMAGE=registry/name:tag names
	@$(MAKE_IMAGE) push --name $(IMAGE) --platforms $(PLATFORMS)

sbom: build ## bin/k8s-cli.spdx.json and bin/k8s-cli-server.spdx.json, what the programs are made of
	@$(MAKE_IMAGE) sbom $(CURDIR)/bin/k8s-cli $(CURDIR)/bin/k8s-cli-server

release: $(HELM) ## dist/: programs for all platforms, chart, contents as SPDX and checksums, the same bytes for the same commit; IMAGE_REPOSITORY=registry/name, for the chart
	@rm -rf dist
	@go -C deploy/release run . --helm $(HELM) --image "$(IMAGE_REPOSITORY)" --out $(CURDIR)/dist

push-chart: $(HELM) ## send the chart in dist/ to CHART_REGISTRY=oci://registry/path
	@$(HELM) push dist/k8s-cli-[0-9]*.tgz $(CHART_REGISTRY)

VULN_DB ?= https://vuln.go.dev
MODULES ?= . deploy/image deploy/local deploy/release deploy/vuln

vuln: ## look the modules up in a vulnerability database; VULN_DB=https://... or file://..., MODULES=directories
	@go -C deploy/vuln run . --db $(VULN_DB) $(abspath $(MODULES))

test: ## everything CI runs: lint, unit, feature and end-to-end tests
	@deploy/test.sh

deploy: $(HELM) ## three API pods and three of NATS on the local cluster, or with KUBECONFIG=, IMAGE= and AUTH= on yours
	@HELM=$(HELM) IMAGE=$(if $(filter command line environment,$(origin IMAGE)),$(IMAGE)) deploy/deploy.sh deploy

undeploy: $(HELM) ## remove them; the log, tasks and volumes stay unless PURGE=1
	@HELM=$(HELM) deploy/deploy.sh undeploy

deploy-test: $(HELM) ## install on a cluster of its own; test the contract, and a load while pods come and go
	@HELM=$(HELM) deploy/deploy-test.sh

manifests: $(HELM) ## render the plain manifests of deploy/kubernetes from the chart
	K8S_CLI_TEST_HELM=$(HELM) go test -count=1 ./test/chart -update

helm: $(HELM) ## build helm and say where it is
	@echo $(HELM)

$(HELM):
	@echo "building helm $(HELM_VERSION) (about 2 minutes, once per machine)" >&2
	@GOBIN=$(dir $@) CGO_ENABLED=0 go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)

prometheus: ## fetch prometheus and promtool and say where they are
	@deploy/prometheus.sh

lint: $(LINT) $(ACTIONLINT) ## formatting, vet, linters, tidiness
	$(LINT) run ./...
	$(LINT) run --build-tags crashpoints ./pkg/... ./test/crash/...
	cd deploy/local && $(LINT) run --config ../../.golangci.yml ./...
	cd deploy/image && $(LINT) run --config ../../.golangci.yml ./...
	cd deploy/release && $(LINT) run --config ../../.golangci.yml ./...
	cd deploy/vuln && $(LINT) run --config ../../.golangci.yml ./...
	$(ACTIONLINT) -shellcheck= -pyflakes= # which not every machine has
	go mod tidy -diff

$(LINT):
	@echo "building golangci-lint $(LINT_VERSION) (once per machine)"
	@GOBIN=$(dir $@) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

# A mistake in a workflow shows only after a push, so they are checked here.
$(ACTIONLINT):
	@echo "building actionlint $(ACTIONLINT_VERSION) (once per machine)"
	@GOBIN=$(dir $@) go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)

unit: $(HELM) ## the tests that need no cluster
	K8S_CLI_TEST_HELM=$(HELM) go test -race -shuffle=on ./pkg/... ./cmd/... ./test/summary ./test/chart ./test/fences ./test/growth ./test/bench/... ./test/faults/... ./test/attack ./test/mutate ./test/count ./test/testkit
	go -C deploy/local test -race ./...
	go -C deploy/image test -race ./...
	K8S_CLI_TEST_HELM=$(HELM) go -C deploy/release test ./...
	go -C deploy/vuln test ./...

features: $(HELM) ## feature tests on the local cluster, which is started if need be; RUN=regexp, RACE=1
	@HELM=$(HELM) deploy/features.sh $(if $(RUN),-run '$(RUN)') $(if $(RACE),-race)

mutate: ## change PKG=./pkg/queue a token at a time, run its tests, list the changes that none of them noticed; N=50, SEED=1, FILES="log.go ev*.go", MIN=90, VERBOSE=1
	@go run ./test/mutate $(if $(N),-n $(N)) $(if $(SEED),-seed $(SEED)) $(if $(FILES),-files '$(FILES)') $(if $(MIN),-min $(MIN)) $(if $(VERBOSE),-v) $(PKG)

count: ## lines of code, of the product and of its tests; the longest functions, largest packages, widest interfaces and types
	@go run ./test/count

SCENARIO ?= all
FAULTS    = $(if $(SEED),-seed $(SEED)) $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(TASKS),-tasks $(TASKS)) $(if $(KEEP),-keep)

faults: ## long runs of faults and a check of all promises; SCENARIO=, SEED=, ROUNDS=, TASKS=, KEEP=1; BUGS=1 for fault-bugs
	@deploy/faults.sh $(if $(BUGS),-bugs all,-scenario $(SCENARIO)) $(FAULTS)

fault-bugs: ## build servers with seeded bugs and require that each is caught
	@deploy/faults.sh -bugs all $(if $(SEED),-seed $(SEED)) $(if $(KEEP),-keep)

releases: ## run the release before beside the current sources on one log, through an upgrade and back
	@deploy/releases.sh

TAKEN = $(if $(TASKS),-tasks $(TASKS)) $(if $(ROUNDS),-rounds $(ROUNDS))

bench: ## what the server adds to the parts it is made of, one table; ONLY=regexp, TASKS=100000, ROUNDS=5, SECONDS=3
	@deploy/bench.sh bench $(if $(ONLY),-only '$(ONLY)') $(TAKEN) $(if $(SECONDS),-seconds $(SECONDS))

soak: ## submit steadily on fake nodes and watch memory, log and latency; MINUTES=30, SHARE=0.7
	@deploy/bench.sh soak $(if $(MINUTES),-minutes $(MINUTES)) $(if $(SHARE),-share $(SHARE))

latency: ## how long a change in the API server takes to reach readers and listeners; RATE=500, TASKS=5000
	@deploy/bench.sh latency $(if $(RATE),-rate $(RATE)) $(if $(TASKS),-changes $(TASKS))

attack: ## attack the server and the CLI in every mode, and list what gets through; ONLY=regexp, SHORT=1, VERBOSE=1
	@deploy/attack.sh $(if $(ONLY),-only '$(ONLY)') $(if $(SHORT),-short) $(if $(VERBOSE),-v)

cluster: ## a real Kubernetes on this machine, kubeconfig in .local/kubeconfig; NODES=kwok for fake nodes, none for no nodes
	@$(LOCAL) up --dir $(STATE) --nodes $(NODES)

cluster-down: ## end the cluster and remove its state
	@$(LOCAL) down --dir $(STATE)
	@rm -rf $(STATE)/data

clean: ## remove what was built here
	rm -rf bin dist
