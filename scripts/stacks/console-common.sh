# Sourced by the scripts of this folder that measure a system through its console: wirelab, and a namespace for tester and board.
# It includes common.sh.
# shellcheck shell=bash
# shellcheck source=scripts/stacks/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# find_wirelab: sets `wirelab` to the program's path.
find_wirelab() {
    wirelab=${WIRELAB:-${CARGO_TARGET_DIR:-$WIRELAB_TREE/target}/debug/wirelab}
    [ -x "$wirelab" ] || wirelab=$(command -v wirelab) || die "wirelab is not built; fix: run \`make build\`"
    wirelab=$(realpath "$wirelab")
}

in_namespace() { ip netns exec "$namespace" "$@"; }

# tap_namespace NAME: makes a namespace for the script's lifetime, with tap0 at 10.77.0.1 for a board at 10.77.0.2. No frame
# leaves the machine.
tap_namespace() {
    namespace=$1-$$
    ip netns add "$namespace" 2>/dev/null || die "this user cannot make a network namespace; fix: run the script as root"
    trap 'ip netns del "$namespace"' EXIT
    in_namespace ip link set lo up
    in_namespace ip tuntap add dev tap0 mode tap
    # This address shows wirelab that the node is emulated, so that its figures are marked as such.
    in_namespace ip link set tap0 address 02:57:4c:37:00:01
    in_namespace ip addr add 10.77.0.1/24 dev tap0
    in_namespace ip link set tap0 up
}
