# Sourced by every script of the project: where the tree is, which Rust is used, how to become root.
# shellcheck shell=bash

WIRELAB_MSRV="${WIRELAB_MSRV:-1.85}"
WIRELAB_TREE="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# WIRELAB_ROOT_DIR puts a fake file system in front of every absolute path; only the tests set it.
WIRELAB_ROOT_DIR="${WIRELAB_ROOT_DIR:-}"
WIRELAB_TOOLS="${WIRELAB_ROOT_DIR:-$WIRELAB_TREE}/.cache/tools"

# A slow index must not fail a set-up that takes minutes (pip's default is 5).
export PIP_RETRIES="${PIP_RETRIES:-10}"

say() { printf '%s: %s\n' "${WIRELAB_SAY:-wirelab}" "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# version_at_least 1.96.0 1.85
version_at_least() {
    local have_major have_minor want_major want_minor
    IFS=. read -r have_major have_minor _ <<<"$1"
    IFS=. read -r want_major want_minor _ <<<"$2"
    [ "$have_major" -gt "$want_major" ] ||
        { [ "$have_major" -eq "$want_major" ] && [ "$have_minor" -ge "$want_minor" ]; }
}

# The version of the rustc in a folder, or of the one in PATH; nothing if there is none.
rustc_version() {
    local version
    read -r _ version _ < <("${1:+$1/}rustc" --version 2>/dev/null) || return 0
    if [[ "$version" =~ ^[0-9]+\.[0-9]+ ]]; then printf '%s\n' "${version%%-*}"; fi
}

# Folders that may hold a toolchain, the preferred first: PATH itself (shown as "."), rustup's (also
# when another toolchain is its default), and the distribution's versioned packages, which Ubuntu
# keeps out of PATH.
rust_folders() {
    echo .
    echo "${CARGO_HOME:-$HOME/.cargo}/bin"
    find "${RUSTUP_HOME:-$HOME/.rustup}/toolchains" -maxdepth 1 -name 'stable-*' 2>/dev/null |
        sed 's|$|/bin|'
    find "$WIRELAB_ROOT_DIR"/usr/lib -maxdepth 1 -name 'rust-*' 2>/dev/null | sort -rV | sed 's|$|/bin|'
}

# rust_folder [fmt clippy …]: the first folder with cargo, a new enough rustc and these subcommands of cargo.
rust_folder() {
    local folder version tool
    while read -r folder; do
        [ "$folder" = . ] && folder=
        [ -z "$folder" ] || [ -x "$folder/cargo" ] || continue
        have "${folder:+$folder/}cargo" || continue
        version=$(rustc_version "$folder")
        [ -n "$version" ] || continue
        version_at_least "$version" "$WIRELAB_MSRV" || continue
        for tool in "$@"; do
            # A rustup shim exists for components that are not installed, so the tool is run.
            "${folder:+$folder/}cargo-$tool" --version >/dev/null 2>&1 || continue 2
        done
        echo "${folder:-.}"
        return 0
    done < <(rust_folders)
    return 1
}

# Puts the chosen toolchain first in PATH.
use_rust() {
    local folder
    folder=$(rust_folder "$@") ||
        die "no Rust of at least $WIRELAB_MSRV${*:+ with cargo $*} is installed; fix: run \`make setup\`"
    [ "$folder" = . ] || PATH="$folder:$PATH"
    # Subcommands installed by hand (cargo-deny, cargo-fuzz) are available with any Rust.
    PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
    export PATH
}

# Prints the prefix that runs a command as root: nothing for root, sudo for others; fails without sudo.
root_words() {
    if [ "$(id -u)" -eq 0 ]; then return 0; fi
    have sudo && echo sudo
}

# Root's folders hold netsniff-ng, ip and xdp-trafficgen, and an ordinary user's PATH lacks them.
PATH="$PATH:$WIRELAB_TOOLS/bin:$WIRELAB_ROOT_DIR/usr/sbin:$WIRELAB_ROOT_DIR/sbin"
export PATH
