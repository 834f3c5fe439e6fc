# Everything that is done with this repository from the command line; `make` alone lists it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# One profile for binary, tests, demo and benches, so that wasmtime is built once.
PROFILE := --release

.PHONY: help setup build demo test soak lint bench deny

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Bring the target wasm32-wasip2 to this machine (nothing happens where it works)
	@scripts/wasm-target.sh

build: setup ## Build everything
	cargo build $(PROFILE) --workspace

demo: setup ## Watch a call survive a cut line and a killed host
	cargo build $(PROFILE) --bin airlock --bin desk-backend
	@scripts/demo.sh

test: setup ## Run every test and say what was skipped
	@scripts/test.sh $(PROFILE)

# How long, in minutes, and the seed that all choices come from: a random one where nothing is said.
SOAK_MINUTES := 10
SOAK_SEED :=

soak: setup ## Kill hosts at random for ten minutes (SOAK_MINUTES, SOAK_SEED) and judge what is left
	cargo build $(PROFILE) -p airlock-tests --bins
	cargo run --quiet $(PROFILE) -p airlock-tests --bin soak -- --minutes $(SOAK_MINUTES) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

lint: setup ## Check formatting and run clippy, with warnings as errors
	cargo fmt --all --check
	cargo clippy $(PROFILE) --workspace --all-targets -- -D warnings

bench: setup ## Measure, and print machine, load and versions with the figures
	cargo bench -p airlock-benches

deny: ## Check licences, bans, sources and advisories of the dependencies (needs cargo-deny)
	@cargo deny --version >/dev/null 2>&1 || { echo "cargo-deny is not installed: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny check licenses bans sources
	cargo deny check advisories
