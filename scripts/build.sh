#!/usr/bin/env bash
# Builds target/release/wirelab with the Rust that setup.sh chose.
set -euo pipefail
WIRELAB_SAY=build
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
use_rust
cd "$WIRELAB_TREE"
features=()
# Nobody who measures ports and boards has to install the tools of hardware.
if [ ! -e "$WIRELAB_TOOLS/hdl/complete" ] || ! { have "${GHDL:-ghdl-mcode}" || have ghdl; }; then
    say "the tools of hardware are not here, so hdl:N is left out of this build. To have it: make setup build"
    features=(--no-default-features)
fi
say "cargo build --release (Rust $(rustc_version ''), minutes the first time)"
exec cargo build --release --locked -p wirelab "${features[@]}"
