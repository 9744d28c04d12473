#!/usr/bin/env bash
# Compiles a kernel module of one source file for Linux 6.1 of fetch.sh: module.sh FILE.c FOLDER, and prints FOLDER/FILE.ko. The headers
# are the distribution's, under .cache/tools/linux-6.1-headers. Nothing is installed and no root is asked for.
set -euo pipefail
WIRELAB_SAY=kernel
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=scripts/lib/env.sh
. "$here/../lib/env.sh"

# headers KERNEL: the headers of the package of that folder, fetched if they are not there.
headers() {
    local version folder="$WIRELAB_TOOLS/linux-6.1-headers" part archive
    version=$(sed 's/^linux-image-//' "$1/package")
    if [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ]; then
        say "fetching linux-headers-$version"
        part=$(mktemp -d "$WIRELAB_TOOLS/linux-6.1-headers.XXXXXX")
        # shellcheck disable=SC2064
        trap "rm -rf '$part'" EXIT
        (cd "$part" && apt-get -qq -o APT::Sandbox::User=root download "linux-headers-$version" \
            "linux-headers-${version%-amd64}-common" linux-kbuild-6.1 >&2) || die "the headers of $version could not be fetched"
        for archive in "$part"/*.deb; do dpkg-deb -x "$archive" "$part"; done
        rm "$part"/*.deb
        echo "$version" >"$part/version"
        chmod 755 "$part"
        rm -rf "$folder"
        mv "$part" "$folder"
        # The packages name one another by where they would be installed.
        sed -i "s|/usr/src/|$folder/usr/src/|" "$folder"/usr/src/linux-headers-*-amd64/Makefile
    fi
    echo "$folder/usr/src/linux-headers-$version"
}

main() {
    [ $# = 2 ] || die "usage: module.sh FILE.c FOLDER"
    local kernel tree name
    kernel=$("$here/fetch.sh")
    tree=$(headers "$kernel")
    name=$(basename "$1" .c)
    mkdir -p "$2"
    cp "$1" "$2/$name.c"
    echo "obj-m := $name.o" >"$2/Makefile"
    make -C "$tree" M="$(realpath "$2")" modules >"$2/build.log" 2>&1 || { cat "$2/build.log" >&2; die "$1 does not compile"; }
    echo "$2/$name.ko"
}

main "$@"
