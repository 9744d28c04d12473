#!/usr/bin/env bash
# Builds the images of all boards, or of those named, into target/firmware/NAME.elf, and prints what they take.
set -euo pipefail
WIRELAB_SAY=firmware
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
# shellcheck source=scripts/lib/lwip.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/lwip.sh"
firmware="$WIRELAB_TREE/firmware"
out="${CARGO_TARGET_DIR:-$WIRELAB_TREE/target}/firmware"
# The folder `src` of lwIP 2.2.1, for machines without a network.
lwip="${LWIP_DIR:-$out/lwip/src}"

# Copies the sources of lwIP, which the lock file pins, out of cargo's cache into the build folder.
fetch_lwip() {
    local lock=$firmware/third_party/lwip/Cargo.lock from
    if [ -n "${LWIP_DIR:-}" ] || cmp -s "$lock" "$out/lwip/Cargo.lock"; then return 0; fi
    from=$(lwip_folder) ||
        die "the sources of lwIP cannot be fetched; fix: set LWIP_DIR to the folder src of lwIP 2.2.1"
    rm -rf "$out/lwip"
    mkdir -p "$out/lwip/src"
    cp -r "$from"/src/core "$from"/src/include "$from"/src/netif "$from"/COPYING "$out/lwip/src/"
    chmod -R u+w "$out/lwip"
    # Last, so that a copy that was cut short is made again.
    cp "$lock" "$out/lwip/Cargo.lock"
}

build() {
    local board=$1 build=$out/build-$1 toolchain log
    toolchain=$(sed -n 's/^set(WL_BOARD_TOOLCHAIN \(.*\))$/\1/p' "$firmware/boards/$board/board.cmake")
    log=$build.log
    # A build folder of another tree, or with another lwIP, is made again.
    if ! { grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$firmware" "$build/CMakeCache.txt" &&
        grep -qxF "LWIP_DIR:PATH=$lwip" "$build/CMakeCache.txt"; } 2>/dev/null; then
        rm -rf "$build"
    fi
    if ! { [ -f "$build/build.ninja" ] ||
        cmake -G Ninja -S "$firmware" -B "$build" -DWL_BOARD="$board" -DLWIP_DIR:PATH="$lwip" \
            -DWL_REGISTERS_DIR:PATH="$registers" -DCMAKE_TOOLCHAIN_FILE="$firmware/cmake/$toolchain.cmake"; } >"$log" 2>&1 ||
        ! ninja -C "$build" >>"$log" 2>&1; then
        tail -n 40 "$log" >&2
        die "$board does not build; fix: correct the errors above"
    fi
    for image in "$build"/*.elf; do
        if ! cmp -s "$image" "$out/$(basename "$image")"; then
            cp "$image" "$out/.$(basename "$image").$$"
            mv "$out/.$(basename "$image").$$" "$out/$(basename "$image")"
        fi
    done
}

# Code and RAM of an image by origin, from the linker's map.
footprint() {
    python3 -B "$WIRELAB_TREE/scripts/lib/footprint.py" "$1"
}

main() {
    local boards=("$@") board registers description
    have arm-none-eabi-gcc || die "arm-none-eabi-gcc is missing; fix: install gcc-arm-none-eabi and libnewlib-arm-none-eabi"
    have ninja || die "ninja is missing; fix: install ninja-build"
    if [ $# -eq 0 ]; then
        for board in "$firmware"/boards/*/board.cmake; do boards+=("$(basename "$(dirname "$board")")"); done
    fi
    mkdir -p "$out"
    # One build at a time: two would write the same files.
    exec 9>"$out/.lock"
    flock 9
    fetch_lwip
    for board in "${boards[@]}"; do
        description=$firmware/boards/$board/board.cmake
        [ -f "$description" ] || die "unknown board '$board'; fix: name a folder of firmware/boards"
        if grep -q "WL_BOARD_TOOLCHAIN rv32" "$description"; then
            have riscv64-unknown-elf-gcc || die "riscv64-unknown-elf-gcc is missing; fix: install gcc-riscv64-unknown-elf"
        fi
        # The headers of the register maps, only for boards with blocks of rtl/: a demo does not have the tools for them.
        registers=
        if grep -q WL_REGISTERS_DIR "$description"; then
            registers=$(python3 -B "$WIRELAB_TREE/rtl/tools/registers.py") ||
                die "the headers of rtl/registers cannot be made; fix: run scripts/setup.sh test"
        fi
        build "$board"
    done
    for board in "${boards[@]}"; do
        for image in "$out/build-$board"/*.map; do footprint "$image"; done
    done
}

main "$@"
