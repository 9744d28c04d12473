//! Compiles the eBPF programs that trace a Linux node.

fn main() {
    wirelab_ebpf_build::compile(&["node", "stages"]);
}
