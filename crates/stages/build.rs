//! Compiles the eBPF programs that look into a Linux node.

fn main() {
    wirelab_ebpf_build::compile(env!("CARGO_MANIFEST_DIR"), &["node", "stages"]);
}
