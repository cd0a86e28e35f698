# Ebbtide: what a developer runs. `make` alone lists the targets.

LINT_VERSION    := v2.15.0
GOFUMPT_VERSION := v0.9.2
PACKAGES        := nut-server nut-client openssh-server libnss3-tools openssl
FUZZTIME        ?= 10s
VERSION         := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
BIN             := $(CURDIR)/bin
GO_TEST         := go test -p 2 -timeout 12m

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what the tests need: Debian's upsd and OpenSSH; safe to run twice
	@missing=; for p in $(PACKAGES); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "missing, and not root: the tests that need them are skipped:$$missing"; exit 0; fi; \
	apt-get -o DPkg::Lock::Timeout=600 update -q && \
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -qy --no-install-recommends $$missing

.PHONY: test
test: setup ## run all tests, with real upsd, sshd and the vSphere simulator
	$(GO_TEST) ./...

.PHONY: race
race: setup ## run the tests of everything concurrent under the race detector
	go test -p 1 -race -timeout 20m ./internal/...

$(BIN)/golangci-lint:
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

$(BIN)/gofumpt:
	GOBIN=$(BIN) go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/gofumpt ## vet, gofumpt and golangci-lint (built from source the first time: some minutes)
	go vet ./...
	@unformatted=$$($(BIN)/gofumpt -l cmd internal test); if [ -n "$$unformatted" ]; then echo "not gofumpt-ed: $$unformatted"; exit 1; fi
	$(BIN)/golangci-lint run ./...

.PHONY: bench
bench: setup ## measure the figures that Ebbtide promises, a JSON line each
	go test ./test/bench -v -count=1 -timeout 20m -args -figures | grep "^{"

.PHONY: build
build: ## build the static binary bin/ebbtide
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$(VERSION)" -o $(BIN)/ebbtide ./cmd/ebbtide

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' internal | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' $$dir | sed 's/^func //'); do \
			go test ./$$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN) dist
