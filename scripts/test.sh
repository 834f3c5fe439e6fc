#!/usr/bin/env bash
# Runs every test of the workspace with the given cargo options, then says what was skipped and how much.
#
# A test that cannot run here appends a line to the file named in AIRLOCK_SKIPS, for a runner shows nothing of
# what a passing test prints: "SKIPPED: what: why; how to have it".

set -euo pipefail

cd "$(dirname "$0")/.."

mkdir -p target
AIRLOCK_SKIPS=$PWD/target/skips
export AIRLOCK_SKIPS
: >"$AIRLOCK_SKIPS"

failed=()

# run NAME COMMAND...: every part runs, whatever became of the one before.
run() {
    local name=$1
    shift
    printf '== %s: %s\n' "$name" "$*"
    "$@" || failed+=("$name")
}

skip() { printf 'SKIPPED: %s\n' "$1" >>"$AIRLOCK_SKIPS"; }

if cargo fmt --version >/dev/null 2>&1; then
    run formatting cargo fmt --all --check
else
    skip "formatting: rustfmt is not installed; rustup component add rustfmt"
fi

if cargo nextest --version >/dev/null 2>&1; then
    run tests cargo nextest run "$@" --workspace --no-fail-fast
else
    run tests cargo test "$@" --workspace --lib --bins --tests --no-fail-fast
fi

run "documentation of the SDK" cargo test "$@" --doc -p airlock-sdk

echo
sort -u "$AIRLOCK_SKIPS"
skipped=$(sort -u "$AIRLOCK_SKIPS" | grep -c '^SKIPPED: ' || true)
if [ "${#failed[@]}" -gt 0 ]; then
    printf -v parts '%s, ' "${failed[@]}"
    printf 'make test: failed: %s; skipped: %s\n' "${parts%, }" "$skipped"
    exit 1
fi
printf 'make test: all passed; skipped: %s\n' "$skipped"
