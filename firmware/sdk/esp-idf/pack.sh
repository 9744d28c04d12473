#!/usr/bin/env bash
# Lays the ESP-IDF component out in FOLDER/wirelab, with all files for it and its example: pack.sh FOLDER
set -euo pipefail
[ $# -eq 1 ] || { echo "pack.sh: no folder is named; fix: pack.sh FOLDER, e.g. my_project/components" >&2; exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
component="$1/wirelab"
rm -rf "$component"
mkdir -p "$component"
cp -r "$here"/{CMakeLists.txt,idf_component.yml,clock.c,examples} "$here"/../../lib/{include,src} "$component/"
cp "$here"/../example.[ch] "$component/examples/frames/main/"
cp "$here"/../../../LICENSE-* "$component/"
echo "$component"
