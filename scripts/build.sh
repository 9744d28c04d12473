#!/usr/bin/env bash
# Builds target/release/wirelab with the Rust that setup.sh chose.
set -euo pipefail
WIRELAB_SAY=build
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
use_rust
cd "$WIRELAB_TREE"
features=()
# hdl is optional: ports and boards are measured without the hardware tools.
if [ -e "$WIRELAB_TOOLS/hdl/complete" ] && { have "${GHDL:-ghdl-mcode}" || have ghdl; }; then
    features=(--features hdl)
else
    say "hdl: is left out of this build: the hardware tools are not installed; fix: make setup build"
fi
say "cargo build --release (Rust $(rustc_version ''), minutes the first time)"
exec cargo build --release --locked -p wirelab "${features[@]}"
