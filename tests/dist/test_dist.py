"""The packages of `make dist` run with only their named dependencies: the .deb unpacked into a root of its own, the wheel in a
fresh environment of Python."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
DIST = TREE / "target/dist"
MOST_BYTES = 16_000_000
# The libraries of Debian's libc6 and of its dependencies.
LIBC6 = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
MEASURE = ["measure", "lab:1", "--length", "64,1514", "--frames", "1000", "--load", "10kpps", "--no-ceiling", "--json"]


def run(*command):
    """The output of a command; its failure fails the test."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def libraries(program):
    """The libraries that a program loads, by name, without the kernel's own."""
    found = {}
    for line in run("ldd", program).splitlines():
        words = line.split()
        if words[0] == "linux-vdso.so.1":
            continue
        path = words[2] if "=>" in words else words[0]
        found[Path(words[0]).name] = Path(path)
    return found


class Dist(unittest.TestCase):
    """Both packages, made once."""

    @classmethod
    def setUpClass(cls):
        run(TREE / "scripts/dist.sh")
        (cls.deb,), (cls.wheel,) = (list(DIST.glob(f"*.{kind}")) for kind in ("deb", "whl"))
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.root = cls.folder / "root"
        run("dpkg-deb", "-x", cls.deb, cls.root)

    def works(self, *wirelab):
        """The program prints the limits of a link, and measures in a lab."""
        self.assertIn("148,809", run(*wirelab, "limits", "--rate", "100M", "--payload", "46"))
        results = json.loads(run(*wirelab, *MEASURE))
        self.assertEqual([o["status"] for o in results["observations"]], ["complete"] * 2)

    def test_the_packages_are_small(self):
        for package in (self.deb, self.wheel):
            self.assertLess(package.stat().st_size, MOST_BYTES, package)

    def test_the_program_is_stripped_and_needs_the_c_library_alone(self):
        program = self.root / "usr/bin/wirelab"
        self.assertLessEqual(set(libraries(program)), LIBC6)
        self.assertNotIn(".debug_info", run("readelf", "-S", program))

    def test_hardware_that_was_left_out_is_named_with_its_fix(self):
        asked = [self.root / "usr/bin/wirelab", "measure", "hdl:4", "--length", "64"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, "fix: .*make setup build")

    def test_the_deb_has_man_pages_and_completions(self):
        share = self.root / "usr/share"
        self.assertTrue((share / "man/man1/wirelab.1.gz").is_file())
        self.assertTrue((share / "man/man1/wirelab-measure.1.gz").is_file())
        for completion in (
            "bash-completion/completions/wirelab",
            "zsh/vendor-completions/_wirelab",
            "fish/vendor_completions.d/wirelab.fish",
        ):
            self.assertIn("udp4", (share / completion).read_text(), completion)

    @unittest.skipUnless(os.geteuid() == 0, "root: a root of its own and network namespaces need it")
    def test_the_deb_works_in_a_root_with_nothing_but_what_it_depends_on(self):
        self.assertRegex(run("dpkg-deb", "-f", self.deb, "Depends"), r"^iproute2, libc6 \([^,]*\)\n$")
        # Labs are made by iproute2's programs; /bin/sh is in every Debian.
        for tool in ("ip", "tc", "sh"):
            shutil.copy(shutil.which(tool), self.root / "usr/bin")
        (self.root / "bin").symlink_to("usr/bin")
        for program in (self.root / "usr/bin").iterdir():
            for name, path in libraries(program).items():
                there = self.root / ("lib64" if name.startswith("ld-") else "lib/x86_64-linux-gnu") / name
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, there)
        mounts = "for it in proc sys dev; do mkdir -p $0/$it; mount --rbind /$it $0/$it; done; mkdir -p $0/run $0/tmp; "
        bare = ["unshare", "--mount", "sh", "-c", mounts + 'exec chroot "$0" /usr/bin/wirelab "$@"', self.root]
        self.works(*bare)

    @unittest.skipUnless(os.geteuid() == 0, "root: network namespaces need it")
    def test_the_wheel_works_in_a_fresh_environment(self):
        run(sys.executable, "-m", "venv", self.folder / "venv")
        run(self.folder / "venv/bin/pip", "install", "--no-index", "--disable-pip-version-check", self.wheel)
        self.works(self.folder / "venv/bin/wirelab")


if __name__ == "__main__":
    unittest.main()
