#!/usr/bin/env bash
# Opens pages of worked results in headless Chromium, as a reader does: one stream of TAP. Screenshots and the printed
# page stay in target/page.
set -euo pipefail
tree="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$tree"
out="$tree/target/page"
rm -rf "$out"
mkdir -p "$out"
cargo run --quiet --locked -p wirelab-report --example pages -- "$out"
WIRELAB_PAGES="$out" node --test --test-reporter=tap web/tests/
