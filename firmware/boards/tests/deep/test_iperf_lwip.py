"""The glue of iperf for lwIP as a program on this host: test_iperf_lwip.c with lwIP itself, under the sanitizers."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lab  # noqa: E402

FIRMWARE = lab.TREE / "firmware"
GLUE = FIRMWARE / "glue/lwip"
CORE = "def inet_chksum init ip mem memp netif pbuf raw stats sys tcp tcp_in tcp_out timeouts udp".split()
IPV4 = "icmp ip4 ip4_addr ip4_frag".split()
IPV6 = "ethip6 icmp6 inet6 ip6 ip6_addr ip6_frag mld6 nd6".split()
CHECKED = ["-std=c11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# No warnings of lwIP's sources; lwIP reads unaligned words if the processor can.
LWIP = [*CHECKED, "-w", "-fno-sanitize=alignment"]
OURS = [*CHECKED, "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def setUpModule():
    """Fetches lwIP, as the images need it."""
    lab.need("arm-none-eabi-gcc")
    lab.build()


class OnThisHost(unittest.TestCase):
    """Client and server in one node, over the loopback."""

    def build_and_run(self, *options):
        """The program's lines, without a failure."""
        lwip = lab.IMAGES / "lwip/src"
        includes = [f"-I{GLUE}/tests/host", f"-I{GLUE}", f"-I{FIRMWARE}/lib/include", f"-I{FIRMWARE}/lib/tests"]
        theirs = [lwip / f"core/{name}.c" for name in CORE]
        theirs += [lwip / f"core/ipv4/{name}.c" for name in IPV4]
        theirs += [lwip / f"core/ipv6/{name}.c" for name in IPV6]
        own = [GLUE / "iperf.c", GLUE / "iperf_reach.c", GLUE / "tests/test_iperf_lwip.c"]
        own += sorted((FIRMWARE / "lib/src").glob("iperf_*.c"))
        with tempfile.TemporaryDirectory() as folder:
            common = [*options, *includes, "-isystem", lwip / "include"]
            self.call(folder, "cc", *LWIP, *common, "-c", *theirs)
            objects = sorted(Path(folder).glob("*.o"))
            self.call(folder, "cc", *OURS, *common, *own, *objects, "-o", "test")
            said = self.call(folder, "./test")
        self.assertRegex(said, r"(?m)^1\.\.\d+$", said)
        self.assertNotIn("not ok", said)
        return said

    def call(self, folder, *command):
        """The output of a program that must succeed."""
        done = subprocess.run([*map(str, command)], cwd=folder, check=False, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_every_mode_over_ipv4_and_ipv6(self):
        self.assertEqual(self.build_and_run('-DWL_IPERF_ALLOW="203.0.113.0/24"').count("\nok "), 6)

    def test_little_memory_ends_no_more_than_a_test(self):
        self.build_and_run("-DSCARCE")


if __name__ == "__main__":
    unittest.main()
