#!/usr/bin/env bash
# Opens pages of worked results in headless Chromium, as a reader does: one stream of TAP. --all opens every page, not only
# those of the usual kinds. Screenshots and the printed page stay in target/page.
set -euo pipefail
tree="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$tree"
out="$tree/target/page"
[ "${1:-}" != --all ] || export WIRELAB_ALL_PAGES=1
rm -rf "$out"
mkdir -p "$out"
cargo run --quiet --locked -p wirelab-report --example pages -- "$out"
WIRELAB_PAGES="$out" node --test --test-reporter=tap web/tests/
