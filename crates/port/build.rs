//! Compiles the eBPF programs of the fast path.

fn main() {
    wirelab_ebpf_build::compile(env!("CARGO_MANIFEST_DIR"), &["generator", "checker"]);
}
