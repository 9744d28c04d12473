#!/usr/bin/env bash
# Puts the distribution's Linux 6.1, the oldest kernel that is supported, under .cache/tools/linux-6.1 and prints
# that folder: fetch.sh. Nothing is installed and no root is asked for. Ends with 1 where there is no such package.
set -euo pipefail
WIRELAB_SAY=kernel
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/env.sh"

# The folders of a kernel package with all that a guest needs: console, file system of the host, virtual ports.
WANTED=(./boot/vmlinuz-'*' '*/kernel/fs/9p/*' '*/kernel/net/9p/*' '*/kernel/fs/netfs/*' '*/kernel/fs/fscache/*'
    '*/kernel/fs/overlayfs/*' '*/kernel/drivers/virtio/*' '*/kernel/drivers/char/virtio_console.ko'
    '*/kernel/drivers/net/*.ko' '*/kernel/net/sched/*' '*/kernel/net/8021q/*' '*/kernel/net/802/*'
    '*/kernel/net/llc/*')

# The newest package of the pattern; nothing where the distribution has none.
newest_package() {
    apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-amd64$' 2>/dev/null | cut -d' ' -f1 | sort -V | tail -n 1
}

# Without hardware virtualisation most of the time of a boot goes into unpacking the kernel, so it is done once, here.
# Where it is packed otherwise than Debian packs it, it stays packed. unpack_kernel IN OUT
unpack_kernel() {
    python3 -B -c '
import lzma, pathlib, sys
packed = pathlib.Path(sys.argv[1]).read_bytes()
at = packed.find(b"\xfd7zXZ\0")
pathlib.Path(sys.argv[2]).write_bytes(lzma.LZMADecompressor().decompress(packed[at:]) if at >= 0 else packed)
' "$1" "$2"
}

# unpack PACKAGE FOLDER
unpack() {
    local archive
    # Without a download as another user, who could not write to the folder.
    (cd "$2" && apt-get -qq -o APT::Sandbox::User=root download "$1" >&2) || die "$1 could not be fetched"
    archive=$(find "$2" -maxdepth 1 -name '*.deb')
    dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$2" --wildcards --strip-components=1 "${WANTED[@]}"
    rm "$archive"
    unpack_kernel "$2"/boot/vmlinuz-* "$2/kernel"
    rm -r "${2:?}/boot"
    echo "$1" >"$2/package"
}

main() {
    local folder="$WIRELAB_TOOLS/linux-6.1" package part
    if [ ! -f "$folder/package" ]; then
        have apt-get || die "no apt-get, so no package of Linux 6.1 is available"
        package=$(newest_package)
        [ -n "$package" ] || die "this distribution has no package linux-image-6.1.0-*-amd64"
        say "fetching $package"
        mkdir -p "$WIRELAB_TOOLS"
        part=$(mktemp -d "$WIRELAB_TOOLS/linux-6.1.XXXXXX")
        # shellcheck disable=SC2064
        trap "rm -rf '$part'" EXIT
        unpack "$package" "$part"
        chmod 755 "$part"
        rm -rf "$folder"
        mv "$part" "$folder"
    fi
    echo "$folder"
}

main
