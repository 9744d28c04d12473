#!/usr/bin/env bash
# Opens pages of worked results in headless Chromium, as a reader does: one stream of TAP. --all opens every page, not only
# those of the usual kinds, and runs the tests that take long. Screenshots and the printed page stay in target/page.
set -euo pipefail
tree="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$tree"
out="$tree/target/page"
[ "${1:-}" != --all ] || export WIRELAB_ALL_PAGES=1
rm -rf "$out"
mkdir -p "$out"
target="${CARGO_TARGET_DIR:-target}"
# The options of the Rust tests (scripts/testrun/suites.py), so that both share one build.
[ -n "$(ls -A "$target/debug/incremental" 2>/dev/null)" ] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
cargo build --quiet --locked --workspace --features wirelab/hdl --example pages
"$target/debug/examples/pages" "$out"
if [ -n "${WIRELAB_ALL_PAGES:-}" ]; then
    cargo build --quiet --locked --workspace --features wirelab/hdl --bin wirelab
    export WIRELAB_PROGRAM="$target/debug/wirelab"
fi
WIRELAB_PAGES="$out" node --test --test-reporter=tap web/tests/
