#!/usr/bin/env bash
# Measures wirelab and other generators in turn on this machine and writes docs/benchmarks.md.
# scripts/bench.sh [--rounds N] [--seconds S] [--trafficgen FILE] [--simulation | --sockets | --pacing | --boards | --plugin |
# --stages | --hardware] [--write FILE]; exit status 1 if a requirement is missed.
set -euo pipefail
WIRELAB_SAY=bench
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
use_rust
cd "$WIRELAB_TREE"
say "cargo build --release of the measuring subjects (Rust $(rustc_version ''))"
cargo build --quiet --release --locked -p wirelab-port --example rate
cargo build --quiet --release --locked -p wirelab-iperf --example speed
cargo build --quiet --release --locked -p wirelab-socket --example echo
cargo build --quiet --release --locked -p wirelab-stages --example reflect_rate
cargo build --quiet --release --locked -p wirelab-trial --example paired_ratio
cargo build --quiet --release --locked -p wirelab-sim -p wirelab-model --example events --example whatif
# As in scripts/build.sh. Without the hardware tools the rows of hardware name the reason.
if [ -e "$WIRELAB_TOOLS/hdl/complete" ]; then
    cargo build --quiet --release --locked -p wirelab-hdl --example reference_speed --example sweep
fi
scripts/firmware.sh >/dev/null
exec python3 scripts/bench/main.py --target "${CARGO_TARGET_DIR:-$WIRELAB_TREE/target}" "$@"
