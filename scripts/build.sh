#!/usr/bin/env bash
# Builds target/release/wirelab with the Rust that setup.sh chose.
set -euo pipefail
WIRELAB_SAY=build
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
use_rust
cd "$WIRELAB_TREE"
say "cargo build --release (Rust $(rustc_version ''), minutes the first time)"
exec cargo build --release --locked -p wirelab
