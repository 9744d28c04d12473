#!/usr/bin/env bash
# Lays the Arduino library out in FOLDER/wirelab, as Arduino wants it (all below src/): pack.sh FOLDER
set -euo pipefail
[ $# -eq 1 ] || { echo "pack.sh: no folder is named; fix: pack.sh FOLDER, e.g. ~/Arduino/libraries" >&2; exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
library="$1/wirelab"
rm -rf "$library"
mkdir -p "$library/src"
cp -r "$here/library.properties" "$here/examples" "$library/"
cp -r "$here/../../lib/include/wirelab" "$here/wirelab.h" "$here"/../../lib/src/*.[ch] "$library/src/"
cp "$here"/../../../LICENSE-* "$library/"
echo "$library"
