#!/usr/bin/env bash
# Runs a command on Linux 6.1 in a virtual machine of two cores: run.sh [--seconds N] COMMAND…
# The command sees the files of this machine, and what it writes is lost with the virtual machine. Output and status
# are the command's; 124: the time was over; 125: the virtual machine did not end on its own.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
kernel=$("$here/fetch.sh")
init=$kernel/init
if [ "$here/init.c" -nt "$init" ]; then
    cc -std=gnu11 -Os -Wall -Wextra -Werror -static -o "$init.$$" "$here/init.c"
    mv "$init.$$" "$init"
fi
exec python3 -B "$here/boot.py" --kernel "$kernel" "$@"
