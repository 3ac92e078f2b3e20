# Every target sets up what it needs: Go, make and git are enough.
SHELL := /bin/sh
.DEFAULT_GOAL := help

GO ?= go
# Extra arguments of go test, such as ARGS='-run TestName -v'.
ARGS ?=
# What to test.
PKGS ?= ./...

bin/dogear: FORCE
	@$(GO) build -o bin/dogear ./cmd/dogear

.PHONY: help build controlplane helm test race lint fmt generate verify demo bench microbench clean FORCE

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/dogear ## Build bin/dogear.

controlplane: ## Build kube-apiserver, etcd and the like into bin/, once (about 6 minutes on 2 cores).
	@sh test/controlplane/build.sh >&2

helm: ## Build helm into bin/, once.
	@sh test/controlplane/build.sh helm

test: controlplane ## Run all tests, on a real control plane.
	$(GO) test -timeout 30m $(ARGS) $(PKGS)

race: controlplane ## The same under the race detector, which needs a C compiler.
	CGO_ENABLED=1 $(GO) test -race -timeout 45m $(ARGS) $(PKGS)

demo: controlplane build ## Show Dogear at work on an embedded control plane.
	@bin/dogear demo $(ARGS)

bench: controlplane build ## Measure against a bare reconciler and the ceiling; writes bench.json.
	@$(GO) run ./test/bench $(ARGS)

microbench: ## Go benchmarks of the codec, the decision and the stamping.
	$(GO) test -run '^$$' -bench . -benchmem ./storage ./controller/plan ./webhook/...

bin/golangci-lint: .ci/tools/go.mod .ci/tools/go.sum
	@mkdir -p bin
	@echo "lint: building golangci-lint (about a minute, once)"
	@cd .ci/tools && CGO_ENABLED=0 $(GO) build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

lint: bin/golangci-lint ## Run the linters.
	bin/golangci-lint run -c .ci/golangci.yml ./...

fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

generate: ## Write generated files anew.
	$(GO) generate ./...
	$(GO) mod tidy

verify: ## Fail if a generated file, the formatting or go.mod is out of date.
	@sh .ci/verify

clean: ## Remove what was built; the control plane too.
	rm -rf bin bench.json
