# Ebbtide: what a developer runs. `make` alone lists the targets.

LINT_VERSION    := v2.15.0
GOFUMPT_VERSION := v0.9.2
LICENSES_VERSION := v1.6.0
PACKAGES        := nut-server nut-client openssh-server libnss3-tools openssl poppler-utils chromium systemd-container \
                   qemu-system-x86 busybox-static dropbear-bin bcache-tools lvm2 thin-provisioning-tools e2fsprogs kmod xz-utils \
                   libvirt-daemon-system openipmi snmpd snmp python3-venv iproute2 iptables
# Peers by pip. fakepve is AGPL: it is installed beside the tree and never part of it.
PIP_PEERS       := fakepve:fakepve==0.5.0 sushy:sushy-tools==2.2.0
FUZZTIME        ?= 10s
SEEDS           ?= 100000
FAULTS          ?= 1
NIGHTS          ?= 20000
VERSION         := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
BIN             := $(CURDIR)/bin
# Most tests wait for real systems: more of them at a time than there are cores.
GO_TEST         := go test -p 2 -parallel 4 -timeout 12m

# The pinned tools carry their version in their names, so that a new pin builds them anew.
LINT    := $(BIN)/golangci-lint-$(LINT_VERSION)
GOFUMPT := $(BIN)/gofumpt-$(GOFUMPT_VERSION)
LICENSES := $(BIN)/go-licenses-$(LICENSES_VERSION)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: peers ## install what the tests need: the systems that they talk to; safe to run twice

.PHONY: packages
packages:
	@missing=; for p in $(PACKAGES); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "cannot install (that needs root and apt-get):$$missing: the tests that need them are skipped, or fail if CI is set" >&2; exit 0; \
	fi; \
	apt-get -o DPkg::Lock::Timeout=600 update -q && \
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -qy --no-install-recommends $$missing

# Each peer by pip has a folder of its own. Without a package index its tests are skipped, or fail if CI is set.
.PHONY: peers
peers: packages
	@mkdir -p $(BIN); for peer in $(PIP_PEERS); do at=$(BIN)/$${peer%%:*}; \
		if [ -x $$at/bin/python ]; then continue; fi; rm -rf $$at; \
		if python3 -m venv $$at && $$at/bin/pip install -q --disable-pip-version-check $${peer#*:}; then continue; fi; \
		rm -rf $$at; echo "cannot install $${peer#*:} by pip: the tests against it are skipped, or fail if CI is set" >&2; \
	done

.PHONY: test
test: setup ## run all tests, with real upsd, sshd and the vSphere simulator
	@dumps="$${EBBTIDE_NUT_DDL:-../shared/nut-ddl}"; [ -d "$$dumps" ] || \
		echo "make: SKIPPED: no UPS dumps at $$dumps: set EBBTIDE_NUT_DDL to the absolute path of a copy of networkupstools/nut-ddl" >&2
	$(GO_TEST) ./...

.PHONY: dst
dst: ## play SEEDS (100000) random outages, FAULTS (1) times the usual faults, against every rule; find every seeded bug
	go test ./test/dst -v -count=1 -timeout 24h -args -dst.random -dst.seeds $(SEEDS) -dst.faults $(FAULTS) -dst.broken 0 -dst.bugs all

.PHONY: near
near: ## play SEEDS (100000) outages close to those that once broke a rule; kill Ebbtide at each record of those
	go test ./test/dst -run 'TestCampaign$$|TestKilledInKnownWorlds' -v -count=1 -timeout 24h -args -dst.random -dst.near -dst.kills 0 -dst.seeds $(SEEDS) -dst.faults $(FAULTS) -dst.broken 0 -dst.check 10

.PHONY: peer
peer: ## compare today's engine with the one before it, over NIGHTS (20000) random nights (a quarter of an hour)
	@go run ./test/peer -nights $(NIGHTS) -faults $(FAULTS)

.PHONY: explore
explore: ## walk every history of two small estates, with larger budgets than the tests (ten minutes, 16 GB)
	go test ./internal/engine -run 'TestExplore$$' -v -count=1 -timeout 3h -args -explore.depth 1

.PHONY: accept
accept: setup ## measure what the engine must show: a line a figure, wanted and got (more than an hour)
	@go run ./test/accept

.PHONY: accept-house
accept-house: setup ## measure the program as a whole: its shape, its size, its memory (five minutes)
	@go run ./test/accept -house

.PHONY: race
race: setup ## run the tests of everything concurrent, or of the packages in RACE, under the race detector
	go test -p 1 -race -timeout 20m $(or $(RACE),./internal/...)

# A copy of the same version that was installed before saves some minutes.
$(LINT):
	@mkdir -p $(BIN); have="$$(go env GOPATH)/bin/golangci-lint"; \
	if "$$have" version 2>/dev/null | grep -q "version $(LINT_VERSION:v%=%) "; then cp "$$have" $@; \
	else GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION) && mv $(BIN)/golangci-lint $@; fi

$(GOFUMPT):
	@mkdir -p $(BIN); have="$$(go env GOPATH)/bin/gofumpt"; \
	if "$$have" --version 2>/dev/null | grep -q "^$(GOFUMPT_VERSION) "; then cp "$$have" $@; \
	else GOBIN=$(BIN) go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION) && mv $(BIN)/gofumpt $@; fi

.PHONY: lint
lint: $(LINT) $(GOFUMPT) ## vet, gofumpt and golangci-lint (built from source the first time: some minutes)
	go vet ./...
	@unformatted=$$($(GOFUMPT) -l cmd internal test) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not gofumpt-ed:" $$unformatted >&2; exit 1; fi
	$(LINT) run ./...

$(LICENSES):
	GOBIN=$(BIN) go install github.com/google/go-licenses@$(LICENSES_VERSION) && mv $(BIN)/go-licenses $@

.PHONY: outside
outside: ## drive Ebbtide as an outsider would: a stock vCenter simulator, upsd with a real dump, sshd, at every moment
	go test ./test/outside -count=1 -parallel 4 -args -outside.all

# Beside what the tool finds: Go itself, and two modules whose licence that counts lies elsewhere: Liberation's fonts, and FreeType's rasterizer, which gives a choice.
.PHONY: notices
notices: $(LICENSES) ## write THIRD_PARTY_NOTICES: the licences of what the binary is linked from
	@{ $(LICENSES) report ./cmd/ebbtide --ignore ebbtide --template deploy/notices.tmpl 2>/dev/null && \
	for more in "Go's runtime and standard library=$$(go env GOROOT)/LICENSE" \
		"the fonts of codeberg.org/go-fonts/liberation=$$(go list -m -f '{{.Dir}}' codeberg.org/go-fonts/liberation)/LICENSE-SIL" \
		"github.com/golang/freetype=$$(go list -m -f '{{.Dir}}' github.com/golang/freetype)/licenses/ftl.txt"; do \
		printf '%080d\n%s\n%080d\n' 0 "$${more%%=*}" 0 | tr 0 = && cat "$${more#*=}" || exit 1; \
	done; } > THIRD_PARTY_NOTICES.new && mv THIRD_PARTY_NOTICES.new THIRD_PARTY_NOTICES

.PHONY: flush-proof
flush-proof: private SHELL := /bin/bash
flush-proof: private .SHELLFLAGS := -o pipefail -c
flush-proof: setup ## cut the power of real caches, five times each with protection and without: a line a pair (10 minutes)
	@go test ./test/flush -v -count=1 -timeout 60m -args -pairs 5 | grep -v '^ok \|^ *\(===\|--- PASS\|PASS$$\)'

.PHONY: flush-proof-zfs
flush-proof-zfs: ## say what a proof with ZFS and a log device needs, and what of it is missing here
	@test/flush/zfs.sh

.PHONY: crash
crash: private SHELL := /bin/bash
crash: private .SHELLFLAGS := -o pipefail -c
crash: setup ## kill -9 the daemon after every record of an outage, and twice: a line each (5 to 15 minutes)
	@go test ./test/crash -v -run KilledAtAnyRecord -count=1 -timeout 60m -args -whole | grep -v '^ok \|^ *\(===\|--- PASS\|PASS$$\)'

.PHONY: bench
bench: private SHELL := /bin/bash
bench: private .SHELLFLAGS := -o pipefail -c
bench: setup ## measure the figures that Ebbtide promises: a JSON line each, and on stderr how it goes
	@go test ./test/bench -v -count=1 -timeout 20m -args -figures | awk '/^{/ { print; fflush(); next } { print > "/dev/stderr" }'

.PHONY: build
build: ## build the static binary bin/ebbtide, as servers have it: without the demo
	CGO_ENABLED=0 go build -tags nodemo -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/ebbtide ./cmd/ebbtide

.PHONY: deb
deb: build ## build the Debian package in dist
	@deploy/deb/build.sh $(BIN)/ebbtide "$(VERSION)" dist

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal test | xargs -n1 dirname | sort -u); do \
		targets=$$(go test -list '^Fuzz' ./$$dir) || { echo "$$targets" >&2; exit 1; }; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			go test ./$$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x || exit 1; \
		done; \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN) dist
