# Everything a person or a CI machine does with Seine. `make` alone lists the targets.
#
# RocksDB is C++ and takes about 20 minutes to compile. It is compiled once, because every target below uses one target
# directory outside the clone (a second clone finds it there), one profile (--release) and one feature set (--workspace).
# A build with -p or in the debug profile would compile it again.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: claim help demo test bench build fmt deny clean deps-build deps-test deps-bench

CACHE ?= $(HOME)/.cache/seine
VENV := $(CACHE)/venv
export CARGO_TARGET_DIR ?= $(CACHE)/target
export PATH := $(PATH):$(HOME)/.cargo/bin

# For `make demo`: the site to crawl instead of the demo web, and where the search page listens.
SITE ?=
HTTP ?= 127.0.0.1:8080
# For `make bench`: further flags, such as BENCH="--pages 2000 --only seine". With AGAINST=REV it crawls in turns with that
# revision instead; FLAGS and AGAINST_FLAGS are for the crawls of this and of that one.
BENCH ?=
AGAINST ?=
FLAGS ?=
AGAINST_FLAGS ?=

# What the tests use from outside the workspace.
test bench: export SEINE_WARCIO := $(VENV)/bin/warcio
test: export SEINE_PYWB := $(VENV)/bin
test bench: export SEINE_CHROMIUM := /usr/bin/chromium
test: export SEINE_SCHEMATHESIS := $(VENV)/bin/schemathesis
test: export SEINE_PYTHON := $(VENV)/bin/python
test: export SEINE_PROMTOOL := $(CACHE)/prometheus/usr/bin/promtool
bench: export SEINE_SCRAPY := $(VENV)/bin/scrapy

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: deps-build claim ## Crawl a small web (or SITE=https://…) and search it at http://127.0.0.1:8080/
	@CACHE='$(CACHE)' SITE='$(SITE)' HTTP='$(HTTP)' exec scripts/demo.sh

test: deps-test claim ## Check the format, lint, build and run all tests
	@scripts/timed format cargo fmt --all --check
	@scripts/timed lint cargo clippy --release --workspace --all-targets -- -D warnings
	@scripts/timed build cargo build --release --workspace
	@SEINE_PROGRAM='$(CARGO_TARGET_DIR)/release/seine' scripts/timed deploy scripts/check-deploy.sh
	@scripts/timed tests cargo test --release --workspace

bench: deps-bench ## Measure crawls, stages and search; with AGAINST=REV crawl in turns with that revision
	@# The other revision first: both are built in one target directory, and the last one stays there.
	@against=; \
	if [ -n '$(AGAINST)' ]; then against=$$(MAKE='$(MAKE)' scripts/revision.sh '$(AGAINST)' '$(CACHE)/revisions'); fi; \
	$(MAKE) --no-print-directory build; \
	$(CARGO_TARGET_DIR)/release/seine-bench --work-dir '$(CACHE)/bench' --flags='$(FLAGS)' \
		$${against:+--against "$$against" --against-flags='$(AGAINST_FLAGS)'} $(BENCH)

build: deps-build claim ## Compile everything; the programs land in ~/.cache/seine/target/release
	@cargo build --release --workspace

fmt: ## Format the code
	@cargo fmt --all

deny: ## Check licences, banned crates and sources of all dependencies
	@cargo deny --version >/dev/null 2>&1 || { echo 'cargo-deny is missing; install it with: cargo install cargo-deny --locked'; exit 1; }
	@cargo deny check licenses bans sources

clean: ## Remove what our own crates compiled to and the demo's data; RocksDB stays compiled
	@cargo clean --release $(patsubst %,-p %,$(shell sed -n 's/^name = "\(seine.*\)"/\1/p' */Cargo.toml))
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
	@scripts/deps.sh g++ libclang-dev ca-certificates

deps-test:
	@scripts/deps.sh g++ libclang-dev ca-certificates curl openssl python3-venv chromium fonts-noto-cjk systemd
	@scripts/deps.sh --unpack '$(CACHE)/prometheus' prometheus
	@scripts/node.sh
	@scripts/deps.sh --rust-component fmt clippy
	@scripts/venv.sh '$(VENV)' scripts/requirements-test.txt
	@scripts/npm.sh tests/browser

deps-bench:
	@scripts/deps.sh g++ libclang-dev ca-certificates python3-venv wget2
	@scripts/venv.sh '$(VENV)' scripts/requirements-bench.txt
