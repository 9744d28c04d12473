#!/usr/bin/env bash
# Builds smoltcp for QEMU's mps2-an385, with the boards' driver of the LAN9118 and the echo of firmware/stacks/smoltcp, into
# target/stacks/smoltcp.elf. It comes from crates.io by the lock file there, and Rust's library for the Cortex-M3 by rustup.
set -euo pipefail
WIRELAB_SAY=smoltcp
# shellcheck source=scripts/stacks/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

target=thumbv7m-none-eabi

main() {
    local folder=$WIRELAB_TREE/firmware/stacks/smoltcp
    use_rust
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] ||
        die "Rust has no library for $target; fix: run rustup target add $target"
    mkdir -p "$stacks_out"
    CARGO_TARGET_DIR=$stacks_out/cargo logged "$stacks_out/smoltcp.log" smoltcp \
        cargo build --release --locked --target "$target" --manifest-path "$folder/Cargo.toml"
    cortex_m3 smoltcp -DSMOLTCP="$stacks_out/cargo/$target/release/libwirelab_stack_smoltcp.a"
    image smoltcp "$built" "smoltcp $(sed -n 's/^smoltcp = .*"=\([0-9.]*\)".*/\1/p' "$folder/Cargo.toml"), no operating system" \
        "$(rustc --version), driver by $(cortex_m3_compiler)" "opt-level 2, $target; driver $cortex_m3_flags" \
        "medium-ethernet, proto-ipv4, socket-udp, socket-tcp"
}

main "$@"
