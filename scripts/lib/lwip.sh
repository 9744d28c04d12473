# Sourced: cargo's folder with the sources of lwIP that a lock file pins; fetches them if they are missing.
# shellcheck shell=bash

# lwip_folder: prints a read-only folder with src and contrib of lwIP 2.2.1.
lwip_folder() {
    use_rust
    cargo metadata --locked --quiet --format-version 1 --manifest-path "$WIRELAB_TREE/firmware/third_party/lwip/Cargo.toml" |
        python3 -c 'import json, os, sys
print(*(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "lwip"))'
}
