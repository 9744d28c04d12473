#!/usr/bin/env bash
# Builds NuttX for QEMU's RISC-V machine `virt` (rv-virt:netnsh64, with iperf and the echo of firmware/stacks) into
# target/stacks/nuttx.elf: NUTTX=FOLDER scripts/stacks/nuttx.sh [node]. With `node` it is target/stacks/nuttx-node.elf, with the
# application of firmware/sdk/nuttx (wl_node) in place of the echo. The sources stay as they are.
#
# NUTTX is a checkout of github.com/apache/nuttx. Beside it lie (or NUTTX_APPS, ARGTABLE3, OPEN_AMP and LIBMETAL name)
# apps or nuttx-apps of apache/nuttx-apps, argtable3 of argtable/argtable3, and open-amp and libmetal of OpenAMP, both at
# the release that nuttx/openamp/Makefile wants: its patches are applied to them.
set -euo pipefail
WIRELAB_SAY=nuttx
# shellcheck source=scripts/stacks/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

config=rv-virt:netnsh64
name=nuttx
[ "${1:-}" != node ] || name=nuttx-node
build=$stacks_out/build-$name
log=$build/build.log
# Off: programs that need audio or missing sources, and the compiler's mathematics, which the distribution's lacks.
off=(AUDIO DRIVERS_AUDIO DRIVERS_VIRTIO_SOUND SYSTEM_NXPLAYER SYSTEM_NXRECORDER NXPLAYER_HTTP_STREAMING_SUPPORT
    LIBM_TOOLCHAIN VIDEO DRIVERS_VIDEO NFS TESTING_OSTEST SCHED_CPULOAD_NONE)
# On: NuttX's own mathematics, the load for `cat /proc/cpuload`, and the checksum of UDP, as in the other stacks.
on=(LIBM ARCH_SETJMP_H SCHED_CPULOAD_SYSCLK NET_UDP_CHECKSUMS)
if [ "$name" = nuttx-node ]; then on+=(WIRELAB NETDEV_IOCTL); else on+=(EXAMPLES_WLECHO); fi

# The sources beside NuttX, unless a variable names them.
beside() {
    local variable=$1 folder
    shift
    if [ -n "${!variable:-}" ]; then return 0; fi
    for folder in "$@"; do
        if [ -d "$NUTTX/../$folder" ]; then printf -v "$variable" '%s' "$NUTTX/../$folder"; return 0; fi
    done
}

find_sources() {
    sources NUTTX tools/configure.sh "github.com/apache/nuttx"
    beside NUTTX_APPS apps nuttx-apps
    beside ARGTABLE3 argtable3
    beside OPEN_AMP open-amp
    beside LIBMETAL libmetal
    local release
    release=$(sed -n 's/^OPENAMP_VERSION *?= *//p' "$NUTTX/openamp/Makefile" | head -n 1)
    sources NUTTX_APPS netutils/iperf/iperf.c "github.com/apache/nuttx-apps"
    sources ARGTABLE3 src/argtable3.h "github.com/argtable/argtable3"
    sources OPEN_AMP lib/include/openamp/virtio.h "github.com/OpenAMP/open-amp at v$release"
    sources LIBMETAL lib/system/nuttx/io.c "github.com/OpenAMP/libmetal at v$release"
}

# An empty .git keeps NuttX's makefiles from downloads.
borrow() {
    copy "$1" "$2"
    mkdir "$2/.git"
}

lay_out() {
    local patch
    mkdir -p "$build"
    : >"$log"
    copy "$NUTTX" "$build/nuttx"
    copy "$NUTTX_APPS" "$build/apps"
    borrow "$ARGTABLE3" "$build/apps/system/argtable3/argtable3"
    borrow "$OPEN_AMP" "$build/nuttx/openamp/open-amp"
    borrow "$LIBMETAL" "$build/nuttx/openamp/libmetal"
    for patch in "$build"/nuttx/openamp/0*.patch; do
        logged "$log" "$(basename "$patch") for OpenAMP, of another release than OPEN_AMP and LIBMETAL: NuttX" \
            patch -p0 -d "$build/nuttx/openamp" -i "$patch"
    done
    if [ "$name" = nuttx-node ]; then
        cp -r "$WIRELAB_TREE/firmware/sdk/nuttx" "$build/apps/wirelab"
        return 0
    fi
    mkdir "$build/apps/examples/wlecho"
    cp "$WIRELAB_TREE"/firmware/stacks/nuttx/* "$WIRELAB_TREE"/firmware/stacks/echo_sockets.[ch] "$build/apps/examples/wlecho/"
}

configure() {
    local option
    logged "$log" "the configuration $config" ./tools/configure.sh -l "$config"
    for option in "${off[@]}"; do kconfig-tweak --file .config --disable "$option"; done
    for option in "${on[@]}"; do kconfig-tweak --file .config --enable "$option"; done
    logged "$log" "the configuration $config with changes" make olddefconfig
}

# The options for the code, from NuttX's makefiles.
flags() {
    make -pn 2>/dev/null | sed -n 's/^CFLAGS := //p' | head -n 1 | tr ' ' '\n' | grep -E '^-(O|m|f)' | paste -sd' '
}

main() {
    find_sources
    needs kconfig-conf kconfig-frontends-nox
    needs genromfs genromfs
    needs riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf
    needs patch patch
    lay_out
    cd "$build/nuttx"
    configure
    logged "$log" NuttX make -j"$(nproc)" WIRELAB_FIRMWARE="$WIRELAB_TREE/firmware"
    image "$name" nuttx "NuttX $(revision "$NUTTX"), apps $(revision "$NUTTX_APPS"), $config" \
        "$(riscv64-unknown-elf-gcc --version | head -n 1)" \
        "$(flags)" "$(grep -E '^CONFIG_(NET_(UDP|TCP)_CHECKSUMS|IOB_BUFSIZE)=' .config | paste -sd' '), UDP and TCP write buffers off"
}

main "$@"
