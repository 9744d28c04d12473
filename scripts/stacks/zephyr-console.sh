#!/usr/bin/env bash
# Builds Zephyr's samples/net/zperf for QEMU (qemu_x86, e1000), and measures it through its console:
# ZEPHYR=FOLDER scripts/stacks/zephyr-console.sh [OPTIONS OF measure…]. ZEPHYR is a checkout of
# github.com/zephyrproject-rtos/zephyr; no module is needed. Tried with 3.4.99. Without it the script measures the previous
# build. Run it as root: Zephyr and tester are joined by a TAP in a namespace of their own, and no frame leaves the machine.
set -euo pipefail
WIRELAB_SAY=zephyr-console
# shellcheck source=scripts/stacks/console-common.sh
. "$(dirname "${BASH_SOURCE[0]}")/console-common.sh"

build=$stacks_out/build-zephyr
log=$build/build.log

# Buffers for bursts of the tester, the threads' time for the CPU load, and no module for the first sequence number.
configuration() {
    cat <<'CONF'
CONFIG_NET_IPV6=n
CONFIG_NET_CONFIG_MY_IPV4_ADDR="10.77.0.2"
CONFIG_NET_CONFIG_PEER_IPV4_ADDR="10.77.0.1"
CONFIG_NET_QEMU_ETHERNET=y
CONFIG_ETH_E1000=y
CONFIG_PCIE=y
CONFIG_NET_PKT_RX_COUNT=64
CONFIG_NET_PKT_TX_COUNT=64
CONFIG_NET_BUF_RX_COUNT=128
CONFIG_NET_BUF_TX_COUNT=128
CONFIG_NET_TCP_MAX_RECV_WINDOW_SIZE=16384
CONFIG_NET_TCP_ISN_RFC6528=n
CONFIG_NET_ZPERF_MAX_PACKET_SIZE=1500
CONFIG_THREAD_RUNTIME_STATS=y
CONFIG_THREAD_NAME=y
CONF
}

build_it() {
    sources ZEPHYR samples/net/zperf/prj.conf github.com/zephyrproject-rtos/zephyr
    needs cmake cmake
    needs ninja ninja-build
    needs dtc device-tree-compiler
    cc -m32 -x c -o /dev/null - <<<'int main(void) { return 0; }' 2>/dev/null ||
        die "the compiler cannot make 32-bit programs; fix: install the package gcc-multilib"
    mkdir -p "$build"
    : >"$log"
    copy "$ZEPHYR" "$build/zephyr"
    # Debian's compiler has its limits.h in another folder.
    sed -i 's|include-fixed/limits.h|include/limits.h|' "$build/zephyr/cmake/compiler/gcc/target.cmake"
    [ -x "$build/venv/bin/python" ] || logged "$log" "the environment of Python" python3 -m venv "$build/venv"
    logged "$log" "what Zephyr's build needs of PyPI" "$build/venv/bin/pip" install -q pyelftools==0.32 PyYAML==6.0.3 \
        pykwalify==1.8.0 packaging==25.0 anytree==2.13.0 intelhex==2.3.0 west==1.5.0
    configuration >"$build/wirelab.conf"
    export PATH=$build/venv/bin:$PATH ZEPHYR_BASE=$build/zephyr
    export ZEPHYR_TOOLCHAIN_VARIANT=cross-compile CROSS_COMPILE=/usr/bin/x86_64-linux-gnu-
    rm -rf "$build/out"
    logged "$log" Zephyr cmake -GNinja -S "$build/zephyr/samples/net/zperf" -B "$build/out" -DBOARD=qemu_x86 \
        -DEXTRA_CONF_FILE="$build/wirelab.conf" -DZEPHYR_MODULES=
    logged "$log" Zephyr ninja -C "$build/out"
    image zephyr-zperf "$build/out/zephyr/zephyr.elf" \
        "Zephyr $(revision "$ZEPHYR"), samples/net/zperf, qemu_x86" "$(cc --version | head -n 1)"
}

[ -z "${ZEPHYR:-}" ] || build_it
elf=$stacks_out/zephyr-zperf.elf
[ -f "$elf" ] || die "$elf does not exist; fix: ZEPHYR=FOLDER with the sources of github.com/zephyrproject-rtos/zephyr"
needs qemu-system-i386 qemu-system-x86
find_wirelab
tap_namespace zephyr
qemu="qemu-system-i386 -m 4 -cpu qemu32,+nx,+pae -machine acpi=off -no-reboot -display none -serial mon:stdio -kernel '$elf'"
qemu+=" -netdev tap,id=n0,ifname=tap0,script=no,downscript=no -device e1000,netdev=n0,mac=02:00:0a:4d:00:02"
# For 3.4; consoles/zephyr.toml has the options of later versions.
profile=${ZEPHYR_PROFILE:-zephyr,threads=threads,bits_kilo=1024}
in_namespace "$wirelab" measure iperf:10.77.0.2 --console "exec:exec $qemu" --profile "$profile" "$@"
