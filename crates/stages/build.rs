//! Compiles the eBPF programs that look into a Linux node.

fn main() {
    wirelab_ebpf_build::compile(&["node", "stages"]);
}
