#!/usr/bin/env bash
# Builds U-Boot for the Zynq-7000 and asks it in QEMU for its link, clocks and version:
# U_BOOT=FOLDER scripts/stacks/u-boot-console.sh. U_BOOT is a checkout of github.com/u-boot/u-boot; tried with 2026.10-rc2.
set -euo pipefail
WIRELAB_SAY=u-boot-console
# shellcheck source=scripts/stacks/console-common.sh
. "$(dirname "${BASH_SOURCE[0]}")/console-common.sh"

build=$stacks_out/build-u-boot
log=$build/build.log

build_it() {
    sources U_BOOT configs/xilinx_zynq_virt_defconfig github.com/u-boot/u-boot
    needs arm-none-eabi-gcc gcc-arm-none-eabi
    needs bison bison
    needs flex flex
    mkdir -p "$build"
    : >"$log"
    copy "$U_BOOT" "$build/u-boot"
    cd "$build/u-boot"
    logged "$log" "the configuration of U-Boot" make CROSS_COMPILE=arm-none-eabi- xilinx_zynq_virt_defconfig
    logged "$log" U-Boot make -s -j"$(nproc)" CROSS_COMPILE=arm-none-eabi-
    cd - >/dev/null
    image u-boot-zynq "$build/u-boot/u-boot.elf" "U-Boot $(revision "$U_BOOT"), xilinx_zynq_virt" "$(cortex_m3_compiler)"
}

[ -z "${U_BOOT:-}" ] || build_it
elf=$stacks_out/u-boot-zynq.elf
[ -f "$elf" ] || die "$elf does not exist; fix: U_BOOT=FOLDER with the sources of github.com/u-boot/u-boot"
needs qemu-system-arm qemu-system-arm
find_wirelab
# With mon:stdio Ctrl-C, which ends a boot script, is U-Boot's and not QEMU's.
qemu="qemu-system-arm -M xilinx-zynq-a9 -m 1G -kernel '$elf' -display none -serial null -serial mon:stdio -nic user"
"$wirelab" console check --console "exec:exec $qemu" --profile u-boot 10.0.2.15
