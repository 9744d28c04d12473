//! Compiles the eBPF programs of the fast path.

fn main() {
    wirelab_ebpf_build::compile(&["generator", "checker"]);
}
