#!/usr/bin/env bash
# Lists the fuzz targets, one a line; --write registers each of them in fuzz/Cargo.toml.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../fuzz"
marker='# The targets below are written by scripts/fuzz-list.sh --write.'

targets() {
    local file
    for file in fuzz_targets/*.rs; do
        [ -e "$file" ] && basename "$file" .rs
    done
    return 0
}

if [ "${1:-}" != --write ]; then
    targets
    exit
fi
grep -qxF "$marker" Cargo.toml || { echo "fuzz/Cargo.toml has lost the line '$marker'; fix: restore it from git" >&2; exit 1; }
{
    sed "\|^$marker\$|q" Cargo.toml
    while read -r name; do
        printf '\n[[bin]]\nname = "%s"\npath = "fuzz_targets/%s.rs"\ntest = false\ndoc = false\nbench = false\n' "$name" "$name"
    done < <(targets)
} >Cargo.toml.new
mv Cargo.toml.new Cargo.toml
