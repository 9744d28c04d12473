#!/usr/bin/env python3
"""Boots a kernel under QEMU, runs one command in it and ends with the command's status; run.sh calls it."""

import argparse
import ctypes
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

# Modules for the tests of ports, labs and stages; each module names its dependencies.
MODULES = "virtio_pci virtio_console 9pnet_virtio 9p overlay veth tun dummy 8021q sch_tbf sch_htb".split()
TIME_OVER, NO_END = 124, 125
# Without hardware virtualisation the machine comes up in seconds, and works at a tenth of the speed.
DEFAULT_SECONDS = 600
MEMORY_MB = 2048
CORES = 2
# Variables of the caller that the command sees, too.
KEPT = ("CARGO", "RUST", "WIRELAB", "INSTA", "PROPTEST")


def dependencies(module):
    """The modules that a module's own information names as dependencies."""
    facts = module.read_bytes().split(b"\0")
    needed = next((fact[8:] for fact in facts if fact.startswith(b"depends=")), b"")
    return [name for name in needed.decode().split(",") if name]


def in_order(kernel, names):
    """The files of the modules, each after its dependencies. A missing one is part of the kernel."""
    there = {path.stem.replace("-", "_"): path for path in kernel.rglob("*.ko")}
    found = {}

    def add(name):
        path = there.get(name.replace("-", "_"))
        if path and path not in found:
            for needed in dependencies(path):
                add(needed)
            found[path] = None

    for name in names:
        add(name)
    return list(found)


def entry(number, name, mode, data=b""):
    """A file of an archive in cpio's format "newc", which the kernel unpacks."""
    numbers = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % value for value in numbers) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def archive(files):
    """An archive of (name, mode, data)."""
    packed = b"".join(entry(number, *file) for number, file in enumerate(files, 1))
    return packed + entry(0, "TRAILER!!!", 0)


def initramfs(kernel, command):
    """The first file system: init, the modules in order, and the script."""
    modules = in_order(kernel, MODULES)
    files = [("modules", 0o40755, b""), ("dev", 0o40755, b""), ("init", 0o100755, (kernel / "init").read_bytes())]
    files += [(f"modules/{i:03}-{path.name}", 0o100644, path.read_bytes()) for i, path in enumerate(modules)]
    return archive([*files, ("command", 0o100644, command.encode())])


def script(words):
    """The shell's text that runs the command here: same folder, same variables of the project."""
    kept = [f"export {key}={shlex.quote(value)}" for key, value in os.environ.items() if key.startswith(KEPT)]
    return "\n".join(["ip link set lo up", *kept, f"cd {shlex.quote(os.getcwd())} || exit", shlex.join(words)])


def has_hardware():
    """Whether the processor has virtualisation. KVM without it (kvm_pvm) runs only prepared kernels."""
    flags = re.search(r"^flags\s*:.*\b(vmx|svm)\b", Path("/proc/cpuinfo").read_text(), re.M)
    return flags is not None and os.access("/dev/kvm", os.R_OK | os.W_OK)


def qemu(kernel, first_files, console, ports):
    """The command line of the virtual machine."""
    words = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
    words += ["-accel", "kvm", "-cpu", "host"] if has_hardware() else ["-accel", "tcg,thread=multi", "-cpu", "max"]
    words += ["-smp", str(CORES), "-m", str(MEMORY_MB), "-kernel", f"{kernel}/kernel", "-initrd", str(first_files)]
    words += ["-append", "console=ttyS0 quiet panic=-1 mitigations=off", "-serial", f"file:{console}"]
    words += ["-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"]
    words += ["-device", "virtio-serial-pci"]
    for number, port in enumerate(ports, 1):
        words += ["-chardev", f"file,id=port{number},path=/dev/fd/{port}"]
        words += ["-device", f"virtserialport,nr={number},chardev=port{number}"]
    return words


def die_with_parent():
    """The virtual machine must not outlive this process, however that ends (PR_SET_PDEATHSIG is 1)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def pump(source, sink):
    """Copies all data until the last writer has closed."""
    with os.fdopen(source, "rb", buffering=0) as reader:
        while piece := reader.read(65536):
            sink.write(piece)
            sink.flush()


def watch(command, pipes, sinks, seconds):
    """Runs the virtual machine, ends it in any case, and returns whether it ended in time."""
    machine = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=[write for _, write in pipes], preexec_fn=die_with_parent
    )
    for _, write in pipes:
        os.close(write)
    threads = [threading.Thread(target=pump, args=(read, sink)) for (read, _), sink in zip(pipes, sinks)]
    try:
        for thread in threads:
            thread.start()
        machine.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        machine.kill()
        machine.wait()
        for thread in threads:
            thread.join()


def run(kernel, words, seconds):
    """Boots, runs, and returns the status; reports errors of the machine itself."""
    with tempfile.TemporaryDirectory(prefix="wirelab-kernel-") as folder:
        first_files, console, status = Path(folder, "initramfs"), Path(folder, "console"), Path(folder, "status")
        first_files.write_bytes(initramfs(kernel, script(words)))
        pipes = [os.pipe() for _ in range(3)]
        with status.open("wb") as status_file:
            sinks = [sys.stdout.buffer, sys.stderr.buffer, status_file]
            ended = watch(qemu(kernel, first_files, console, [write for _, write in pipes]), pipes, sinks, seconds)
        said = status.read_text().strip()
        if said:
            return int(said)
        last = console.read_text(errors="replace").splitlines()[-20:] if console.exists() else []
        what = "the virtual machine ended before the command" if ended else f"not done after {seconds} s"
        print("\n".join([f"kernel: {what}; its last lines:", *last]), file=sys.stderr)
        return NO_END if ended else TIME_OVER


def main():
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", type=Path, required=True, help="folder that fetch.sh made")
    parser.add_argument("--seconds", type=int, default=DEFAULT_SECONDS, help=f"longest time ({DEFAULT_SECONDS})")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args()
    if not options.command:
        parser.error("no command is given; fix: run.sh [--seconds N] COMMAND…")
    # At SIGTERM the exit handlers clean up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(run(options.kernel, options.command, options.seconds))


if __name__ == "__main__":
    main()
