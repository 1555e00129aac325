# The targets of the project. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run build attack deploy-test manifests helm nats prometheus deploy undeploy image push sbom release push-chart vuln test test-all test-changed lint lint-modules mutate count faults fault-bugs bench soak latency ui ui-vendor ui-full screenshots demo module python typescript wheel cluster cluster-down clean

CACHE  := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/k8s-cli
NODES  ?= kubelet
LOCAL   = go -C deploy/local run .
STATE  := $(CURDIR)/.local

LINT_VERSION := v2.15.0
LINT         := $(CACHE)/golangci-lint-$(LINT_VERSION)/golangci-lint

ACTIONLINT_VERSION := v1.7.12
ACTIONLINT         := $(CACHE)/actionlint-$(ACTIONLINT_VERSION)/actionlint

NATS_VERSION := v0.3.0
NATS         := $(CACHE)/natscli-$(NATS_VERSION)/nats

HELM_VERSION := v3.22.0
HELM         := $(CACHE)/helm-$(HELM_VERSION)/helm

help: ## list the targets
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F '\t' '{ \
	  line = sprintf("%-15s", $$1); n = split($$2, word, " "); \
	  for (i = 1; i <= n; i++) { \
	    if (length(line " " word[i]) > 100) { print line; line = sprintf("%15s", "") } \
	    line = line " " word[i] } \
	  print line }'

run: build ## start a cluster and the server, submit the first task and print its log; INSTANCE=1 next to another checkout
	@deploy/try.sh

# deploy/local/build has the same flags, so that the server and the programs of the local
# cluster share the packages in the build cache of Go.
COMPILE = -trimpath -gcflags=all=-dwarf=false

build: ## build bin/k8s-cli and bin/k8s-cli-server
	@mkdir -p bin
	CGO_ENABLED=0 go build $(COMPILE) -ldflags "-s -w" -o bin/ ./cmd/...

IMAGE     ?= k8s-cli.local/server:dev
PLATFORMS ?= linux/amd64,linux/arm64
PROGRAM   ?= k8s-cli-server
MAKE_IMAGE = go -C deploy/image run .

# The name of a release contains the name of a git tag, which neither make nor the shell may run.
image push: export NAME = $(value IMAGE)

image: ## build bin/k8s-cli-image.tar, an OCI archive, and its SPDX list of modules; IMAGE=name:tag, PLATFORMS=, PROGRAM=k8s-cli-bucket for the image of buckets
	@mkdir -p bin
	@$(MAKE_IMAGE) archive --program $(PROGRAM) --name "$$NAME" --platforms $(PLATFORMS) --out $(CURDIR)/bin/k8s-cli-image.tar

push: ## build the image and push it to IMAGE=registry/name:tag; PLATFORMS=, PROGRAM= as for image
	@$(MAKE_IMAGE) push --program $(PROGRAM) --name "$$NAME" --platforms $(PLATFORMS)

sbom: build ## write the SPDX lists of modules of both programs to bin/
	@$(MAKE_IMAGE) sbom $(CURDIR)/bin/k8s-cli $(CURDIR)/bin/k8s-cli-server

release: $(HELM) ## build a release in dist/: programs for all platforms, chart, SPDX lists and checksums; IMAGE_REPOSITORY=registry/name for the chart
	@rm -rf dist
	@go -C deploy/release run . --helm $(HELM) --image "$(IMAGE_REPOSITORY)" --out $(CURDIR)/dist

push-chart: $(HELM) ## push the chart in dist/ to CHART_REGISTRY=oci://registry/path
	@$(HELM) push dist/k8s-cli-[0-9]*.tgz $(CHART_REGISTRY)

VULN_DB ?= https://vuln.go.dev
MODULES ?= . $(MODULE_DIRS)

vuln: ## scan the modules with a vulnerability database; VULN_DB=https://... or file://..., MODULES=directories
	@go -C deploy/vuln run . --db $(VULN_DB) $(abspath $(MODULES))

SUITES = CGO_ENABLED=0 go run $(COMPILE) ./test/suites $(if $(RUN),-run '$(RUN)')

test: ## run the gate: lint, unit tests, feature tests of every promise, crash points; FORCE=1 without the test cache
	@$(SUITES) gate

test-all: ## run all suites that read a changed file since they passed; FORCE=1 runs all
	@$(SUITES) all

BASE ?= main

test-changed: ## run the suites that read a file that differs from BASE=main
	@$(SUITES) -base $(BASE) changed

# test-unit, test-features, test-docs, test-clients, test-durability, test-faults, test-crash, test-attack, test-ui,
# test-openapi, test-deploy, test-buckets
test-%: ## run one suite: unit, features, docs, clients, durability, buckets, faults, crash, attack, ui, openapi, deploy; RUN=regexp
	@$(SUITES) $*

deploy: $(HELM) ## install three API pods and three NATS nodes on the local cluster; KUBECONFIG=, IMAGE= and AUTH= for another cluster, INSTANCE=1 next to another checkout
	@HELM=$(HELM) IMAGE=$(if $(filter command line environment,$(origin IMAGE)),$(IMAGE)) deploy/deploy.sh deploy

undeploy: $(HELM) ## uninstall the server and NATS; PURGE=1 also deletes the log, tasks and volumes
	@HELM=$(HELM) deploy/deploy.sh undeploy

deploy-test: $(HELM) ## install on a separate cluster and test the contract, also under load while pods are replaced
	@HELM=$(HELM) deploy/deploy-test.sh

manifests: $(HELM) ## render the plain manifests of deploy/kubernetes from the chart
	K8S_CLI_TEST_HELM=$(HELM) go test -count=1 ./test/chart -update

helm: $(HELM) ## build helm and print its path
	@echo $(HELM)

$(HELM):
	@echo "building helm $(HELM_VERSION) (about 2 minutes, once per machine)" >&2
	@GOBIN=$(dir $@) CGO_ENABLED=0 go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)

nats: $(NATS) ## build the CLI of NATS and print its path
	@echo $(NATS)

$(NATS):
	@echo "building the CLI of NATS $(NATS_VERSION) (about a minute, once per machine)" >&2
	@GOBIN=$(dir $@) CGO_ENABLED=0 go install github.com/nats-io/natscli/nats@$(NATS_VERSION)

prometheus: ## fetch prometheus and promtool and print their directory
	@deploy/prometheus.sh

lint: $(LINT) ## check formatting, vet, linters and go.mod
	GOGC=300 $(LINT) run ./...
	go mod tidy -diff

MODULE_DIRS = deploy/bucket deploy/image deploy/local deploy/release deploy/vuln

lint-modules: $(LINT) $(ACTIONLINT) ## check the modules in deploy, the crash points and the workflows
	@for dir in $(MODULE_DIRS); do (cd $$dir && set -x && $(LINT) run --config ../../.golangci.yml ./...); done
	$(LINT) run --build-tags crashpoints ./pkg/crash/... ./test/crash/...
	$(ACTIONLINT) -shellcheck= -pyflakes= # not every machine has shellcheck and pyflakes

$(LINT):
	@echo "building golangci-lint $(LINT_VERSION) (once per machine)"
	@GOBIN=$(dir $@) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

# lint checks the workflows, because an error in a workflow otherwise shows only after a push.
$(ACTIONLINT):
	@echo "building actionlint $(ACTIONLINT_VERSION) (once per machine)"
	@GOBIN=$(dir $@) go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)

mutate: ## change the code of PKG=./pkg/queue one token at a time and list the changes that no test detects; N=50, SEED=1, FILES="log.go ev*.go", MIN=90, VERBOSE=1
	@go run ./test/mutate $(if $(N),-n $(N)) $(if $(SEED),-seed $(SEED)) $(if $(FILES),-files '$(FILES)') $(if $(MIN),-min $(MIN)) $(if $(VERBOSE),-v) $(PKG)

count: ## count lines of code and of tests; list the longest functions, largest packages, widest interfaces and types
	@go run ./test/count

SCENARIO ?= all
FAULTS    = $(if $(SEED),-seed $(SEED)) $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(TASKS),-tasks $(TASKS)) $(if $(KEEP),-keep)

faults: ## inject faults for a long time and check all guarantees; SCENARIO=, SEED=, ROUNDS=, TASKS=, KEEP=1; BUGS=1 for fault-bugs
	@deploy/faults.sh $(if $(BUGS),-bugs all,-scenario $(SCENARIO)) $(FAULTS)

fault-bugs: ## build servers with seeded bugs and check that the fault tests detect each bug
	@deploy/faults.sh -bugs all $(if $(SEED),-seed $(SEED)) $(if $(KEEP),-keep)

TAKEN = $(if $(TASKS),-tasks $(TASKS)) $(if $(ROUNDS),-rounds $(ROUNDS))

bench: ## measure what the server adds to its parts and print one table; ONLY=regexp, TASKS=100000, ROUNDS=5, SECONDS=3
	@deploy/bench.sh bench $(if $(ONLY),-only '$(ONLY)') $(TAKEN) $(if $(SECONDS),-seconds $(SECONDS))

soak: ## submit tasks steadily on fake nodes and watch memory, log and latency; MINUTES=30, SHARE=0.7
	@deploy/bench.sh soak $(if $(MINUTES),-minutes $(MINUTES)) $(if $(SHARE),-share $(SHARE))

latency: ## measure how long a change in the API server takes to reach readers and subscribers; RATE=500, TASKS=5000
	@deploy/bench.sh latency $(if $(RATE),-rate $(RATE)) $(if $(TASKS),-changes $(TASKS))

ui: ## serve the pages from disk at http://127.0.0.1:8081 with the data of a server, to develop them; SERVER=http://127.0.0.1:8000
	@go run ./test/ui/serve $(if $(SERVER),-server $(SERVER))

ui-vendor: ## fetch the pinned files of Preact and htm for the pages from npm, and check their hashes
	@deploy/ui-vendor.sh

ui-full: ## test the pages with full sizes and print times: 100,000 tasks, 200 changes a second, 1,000,000 lines of a log
	@deploy/ui.sh full

screenshots: ## write the screenshots of docs/images
	@deploy/ui.sh screenshots

demo: build ## record the terminal session of README.md on a local cluster, or on the server K8S_CLI_API_URL=
	@deploy/demo.sh

attack: ## attack the server and the CLI in every mode and list successful attacks; ONLY=regexp, VERBOSE=1
	@deploy/attack.sh $(if $(ONLY),-only '$(ONLY)') $(if $(VERBOSE),-v)

module: ## build a copy of the checkout with another module path, in .local/module; MODULE=example.com/team/k8s-cli
	@deploy/module.sh $(MODULE)

python: ## test the Python client without a server, and check its types with mypy
	cd clients/python && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest
	@PATH=$$(deploy/python.sh):$$PATH go test -count=1 -run 'TestPythonIsTyped$$' ./test/features

typescript: ## write and check the types of the TypeScript client, and test the client without a server
	@deploy/ui.sh modules
	@cd clients/typescript && node generate.mjs && node --test test/unit.test.mjs

wheel: ## write the wheel of the Python client to dist/, with Python only; VERSION=1.2.3
	@python3 clients/python/wheel.py --out dist $(if $(VERSION),--version $(VERSION))

cluster: ## start a real Kubernetes on this machine, with kubeconfig in .local/kubeconfig; NODES=kwok for fake nodes, NODES=none for no nodes; INSTANCE=
	@$(LOCAL) up --dir $(STATE) --nodes $(NODES)

cluster-down: ## stop the local cluster and delete its state
	@$(LOCAL) down --dir $(STATE)
	@rm -rf $(STATE)/data

clean: ## delete bin and dist
	rm -rf bin dist
