# Sourced by the scripts of this folder: folders of other people's sources, what they are, and where images go.
# shellcheck shell=bash
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/env.sh"
stacks_out="${CARGO_TARGET_DIR:-$WIRELAB_TREE/target}/stacks"

# needs COMMAND PACKAGE: a program of the build.
needs() {
    have "$1" || die "there is no $1; fix: install the package $2, or run scripts/setup.sh test stacks for all"
}

# sources VARIABLE FILE WHAT: the folder that VARIABLE names holds the sources if it has FILE; WHAT says where they are from.
sources() {
    local folder=${!1:-}
    [ -n "$folder" ] || die "$1 is not set; fix: $1=FOLDER with the sources of $3"
    [ -e "$folder/$2" ] || die "$1: $folder has no $2; fix: name a folder with the sources of $3"
}

# revision FOLDER: the commit of a checkout, or that it is none.
revision() {
    if [ -e "$1/.git" ] && git -C "$1" rev-parse --short=12 HEAD 2>/dev/null; then return 0; fi
    echo "no checkout"
}

# copy FROM TO: sources without their history, so that a build changes nothing in the folder that was named.
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
    die "$what does not build; the whole output is in $log"
}

# image NAME FILE LINE…: puts an image into its place, and beside it, in NAME.txt, what it was made of; prints both.
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

# cortex_m3 NAME OPTION…: compiles firmware/stacks with CMake; `built` is the image.
cortex_m3() {
    local name=$1 build=$stacks_out/build-$1
    shift
    needs arm-none-eabi-gcc gcc-arm-none-eabi
    needs cmake cmake
    needs ninja ninja-build
    [ -e /usr/lib/arm-none-eabi/newlib/libc.a ] || die "there is no C library for Arm; fix: install the package libnewlib-arm-none-eabi"
    rm -rf "$build"
    mkdir -p "$build"
    logged "$build/build.log" "$name" cmake -G Ninja -S "$WIRELAB_TREE/firmware/stacks" -B "$build" -DWL_STACK="$name" \
        -DCMAKE_TOOLCHAIN_FILE="$WIRELAB_TREE/firmware/cmake/cortex-m3.cmake" "$@"
    logged "$build/build.log" "$name" ninja -C "$build"
    # shellcheck disable=SC2034
    built=$build/$name.elf
}
