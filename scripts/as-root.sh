#!/usr/bin/env bash
# Runs a command as root and keeps the variables that cargo and the tests read; cargo uses it as a runner.
# sudo -E is not used: sudo-rs does not know it and policies may forbid it.
set -euo pipefail
if [ "$(id -u)" -eq 0 ] || ! command -v sudo >/dev/null 2>&1; then exec "$@"; fi
keep=()
while IFS= read -r -d '' pair; do
    case "$pair" in
        CARGO* | RUST* | WIRELAB* | INSTA* | PROPTEST* | PATH=* | LD_LIBRARY_PATH=* | HOME=* | TMPDIR=*) keep+=("$pair") ;;
    esac
done < <(env -0)
exec sudo env "${keep[@]}" "$@"
