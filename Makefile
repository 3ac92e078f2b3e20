# Every target sets up what it needs: Go, make and git are enough.
SHELL := /bin/sh
.DEFAULT_GOAL := help

GO ?= go
# Extra arguments of go test, such as ARGS='-run TestName -v'.
ARGS ?=
# What to test.
PKGS ?= ./...

# tested runs the command $(1), go test, and says at the end which tests failed
# and why: what comes before may be long, and some places show its end alone.
tested = @$(info $(1))log=$$(mktemp) && trap 'rm -f "$$log"' EXIT && exec 4>&1 && \
	code=$$({ { $(1) 2>&1 3>&- 4>&-; echo $$? >&3; } | tee "$$log" >&4; } 3>&1) && \
	if [ "$$code" != 0 ]; then printf '\nWhat failed:\n' && $(failures) "$$log" | cut -c 1-400 | head -n 60; exit "$$code"; fi

# failures picks the names of tests that failed, and of each the first messages.
failures = awk '/^ *--- FAIL|^FAIL.|^panic:|^\# / { n = 0; print; next } /^ *[a-z0-9_]*_test\.go:[0-9]*:/ && n++ < 5'

bin/dogear: FORCE
	@$(GO) build -o bin/dogear ./cmd/dogear

.PHONY: help build controlplane helm test race lint fmt generate verify demo bench microbench examples-deps clean FORCE

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/dogear ## Build bin/dogear.

controlplane: ## Build kube-apiserver, etcd and the like into bin/, once (with helm about 10 minutes on 2 cores).
	@sh test/controlplane/build.sh >&2

helm: ## Build helm into bin/, once.
	@sh test/controlplane/build.sh helm

test: controlplane helm ## Run all tests, on a real control plane.
	$(call tested,$(GO) test -timeout 30m $(ARGS) $(PKGS))

race: controlplane helm ## The same under the race detector, which needs a C compiler.
	$(call tested,CGO_ENABLED=1 $(GO) test -race -timeout 45m $(ARGS) $(PKGS))

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

examples-deps: ## Install what runs the examples in Python and Node (on Debian, as root).
	apt-get install -y python3 nodejs

clean: ## Remove what was built; the control plane too.
	rm -rf bin bench.json
