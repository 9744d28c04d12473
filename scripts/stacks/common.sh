# Sourced by the scripts of this folder: the folders of other people's sources and their versions, and the place of images.
# shellcheck shell=bash
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/env.sh"
stacks_out="${CARGO_TARGET_DIR:-$WIRELAB_TREE/target}/stacks"

# needs COMMAND PACKAGE: a program of the build.
needs() {
    have "$1" || die "$1 is not installed; fix: install the package $2"
}

# sources VARIABLE FILE ORIGIN: requires the folder of VARIABLE to have FILE, which shows that it holds the sources of ORIGIN.
sources() {
    local folder=${!1:-}
    [ -n "$folder" ] || die "$1 is not set; fix: $1=FOLDER with the sources of $3"
    [ -e "$folder/$2" ] || die "$1: $folder has no $2; fix: name a folder with the sources of $3"
}

# revision FOLDER: the commit of a checkout, or that it is not one.
revision() {
    if [ -e "$1/.git" ] && git -C "$1" rev-parse --short=12 HEAD 2>/dev/null; then return 0; fi
    echo "not a checkout"
}

# copy FROM TO: copies sources without their history, so that a build does not change the user's folder.
copy() {
    rm -rf "$2"
    mkdir -p "$2"
    tar -C "$1" --exclude=./.git --exclude=./Documentation -cf - . | tar -C "$2" -xf -
}

# logged LOG WHAT COMMAND…: a step whose output is shown only if it fails.
logged() {
    local log=$1 what=$2
    shift 2
    if "$@" >>"$log" 2>&1; then return 0; fi
    tail -n 30 "$log" >&2
    die "$what does not build; fix: correct the errors above (all output: $log)"
}

# image NAME FILE LINE…: puts an image into its place, and LINEs about its sources into NAME.txt beside it; prints both.
image() {
    local name=$1 file=$2
    shift 2
    cp "$file" "$stacks_out/.$name.elf"
    mv "$stacks_out/.$name.elf" "$stacks_out/$name.elf"
    printf '%s\n' "$@" >"$stacks_out/$name.txt"
    echo "$stacks_out/$name.elf"
    sed 's/^/    /' "$stacks_out/$name.txt"
}

# shellcheck disable=SC2034
cortex_m3_flags="-O2 -fbuiltin -fno-strict-aliasing -mcpu=cortex-m3 -mthumb"
cortex_m3_compiler() { arm-none-eabi-gcc --version | head -n 1; }

# cortex_m3 NAME OPTION…: compiles firmware/stacks with CMake; sets `built` to the image.
cortex_m3() {
    local name=$1 build=$stacks_out/build-$1
    shift
    needs arm-none-eabi-gcc gcc-arm-none-eabi
    needs cmake cmake
    needs ninja ninja-build
    [ -e /usr/lib/arm-none-eabi/newlib/libc.a ] ||
        die "the C library for Arm is missing; fix: install the package libnewlib-arm-none-eabi"
    rm -rf "$build"
    mkdir -p "$build"
    logged "$build/build.log" "$name" cmake -G Ninja -S "$WIRELAB_TREE/firmware/stacks" -B "$build" -DWL_STACK="$name" \
        -DCMAKE_TOOLCHAIN_FILE="$WIRELAB_TREE/firmware/cmake/cortex-m3.cmake" "$@"
    logged "$build/build.log" "$name" ninja -C "$build"
    # shellcheck disable=SC2034
    built=$build/$name.elf
}
