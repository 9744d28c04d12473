# Sourced: where cargo keeps the sources of lwIP that a lock file pins; fetches them if they are not there.
# shellcheck shell=bash

# lwip_folder: prints a folder with src and contrib of lwIP 2.2.1, which nobody writes to.
lwip_folder() {
    use_rust
    cargo metadata --locked --quiet --format-version 1 --manifest-path "$WIRELAB_TREE/firmware/third_party/lwip/Cargo.toml" |
        python3 -c 'import json, os, sys
print(*(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "lwip"))'
}
