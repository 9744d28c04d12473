#!/usr/bin/env bash
# fetch.sh: puts the distribution's Linux 6.1, the oldest supported kernel, under .cache/tools/linux-6.1 and prints that folder.
# It installs nothing and needs no root. It ends with 1 if there is no such package.
set -euo pipefail
WIRELAB_SAY=kernel
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/env.sh"

# The folders of a kernel package that a guest needs: console, file system of the host, virtual ports.
WANTED=(./boot/vmlinuz-'*' '*/kernel/fs/9p/*' '*/kernel/net/9p/*' '*/kernel/fs/netfs/*' '*/kernel/fs/fscache/*'
    '*/kernel/fs/overlayfs/*' '*/kernel/drivers/virtio/*' '*/kernel/drivers/char/virtio_console.ko'
    '*/kernel/drivers/net/*.ko' '*/kernel/net/sched/*' '*/kernel/net/8021q/*' '*/kernel/net/802/*'
    '*/kernel/net/llc/*')

# The newest package of the pattern; nothing if the distribution has none.
newest_package() {
    apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-amd64$' 2>/dev/null | cut -d' ' -f1 | sort -V | tail -n 1
}

# unpack_kernel IN OUT: unpacks the kernel once, because that takes most of a boot without hardware virtualisation. A kernel
# that is not packed as Debian's stays packed.
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
    # As root, because apt's own user could not write to the folder.
    (cd "$2" && apt-get -qq -o APT::Sandbox::User=root download "$1" >&2) ||
        die "$1 cannot be fetched; fix: allow access to the distribution's archive"
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
        have apt-get || die "apt-get is missing, so Linux 6.1 cannot be fetched; fix: use Debian 12"
        package=$(newest_package)
        [ -n "$package" ] ||
            die "apt knows no package linux-image-6.1.0-*-amd64; fix: add the archive of Debian 12 to apt's sources"
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
