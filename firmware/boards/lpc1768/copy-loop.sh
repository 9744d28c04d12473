#!/usr/bin/env bash
# Shows the copy loops of an LPC1768 image as the compiler made them: copy-loop.sh [IMAGE.elf]
# The scenario `copied` runs these instructions once for each halfword.
set -euo pipefail
image=${1:-${CARGO_TARGET_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../../target}/firmware/lpc1768-ram.elf}

if [ ! -f "$image" ]; then
    echo "copy-loop: $image does not exist; fix: run \`make firmware\`" >&2
    exit 1
fi
# The linker leaves out loops that nothing calls.
loops=$(arm-none-eabi-nm "$image" | sed -n 's/.* T \(board_copy_[a-z]*\)$/\1/p')
for loop in $loops; do
    arm-none-eabi-objdump -d --no-show-raw-insn --disassemble="$loop" "$image" | sed -n "/<$loop>:/,\$p"
done
