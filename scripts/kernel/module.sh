#!/usr/bin/env bash
# module.sh FILE.c FOLDER: compiles a kernel module of one source file for the Linux 6.1 of fetch.sh, and prints FOLDER/FILE.ko.
# The headers are the distribution's, under .cache/tools/linux-6.1-headers. It installs nothing and needs no root.
set -euo pipefail
WIRELAB_SAY=kernel
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=scripts/lib/env.sh
. "$here/../lib/env.sh"

# headers KERNEL: prints the folder of the headers for the kernel in that folder; fetches them if they are missing.
headers() {
    local version folder="$WIRELAB_TOOLS/linux-6.1-headers" part archive
    version=$(sed 's/^linux-image-//' "$1/package")
    if [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ]; then
        say "fetching linux-headers-$version"
        part=$(mktemp -d "$WIRELAB_TOOLS/linux-6.1-headers.XXXXXX")
        # shellcheck disable=SC2064
        trap "rm -rf '$part'" EXIT
        (cd "$part" && apt-get -qq -o APT::Sandbox::User=root download "linux-headers-$version" \
            "linux-headers-${version%-amd64}-common" linux-kbuild-6.1 >&2) ||
            die "the headers of $version cannot be fetched; fix: allow access to the distribution's archive"
        for archive in "$part"/*.deb; do dpkg-deb -x "$archive" "$part"; done
        rm "$part"/*.deb
        echo "$version" >"$part/version"
        chmod 755 "$part"
        rm -rf "$folder"
        mv "$part" "$folder"
        # The packages name one another by their installed paths.
        sed -i "s|/usr/src/|$folder/usr/src/|" "$folder"/usr/src/linux-headers-*-amd64/Makefile
    fi
    echo "$folder/usr/src/linux-headers-$version"
}

main() {
    [ $# = 2 ] || die "$# arguments instead of 2; fix: module.sh FILE.c FOLDER"
    local kernel tree name
    kernel=$("$here/fetch.sh")
    tree=$(headers "$kernel")
    name=$(basename "$1" .c)
    mkdir -p "$2"
    cp "$1" "$2/$name.c"
    echo "obj-m := $name.o" >"$2/Makefile"
    make -C "$tree" M="$(realpath "$2")" modules >"$2/build.log" 2>&1 ||
        { cat "$2/build.log" >&2; die "$1 does not compile; fix: correct the errors above"; }
    echo "$2/$name.ko"
}

main "$@"
