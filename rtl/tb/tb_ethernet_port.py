"""Narrow counts for the test of tb_ethernet_port in which all of them run over."""


def configure(bench, _folder):
    """Give each test the bits of its counts."""
    bench.test("counts that run over are told by the registers until they are cleared").set_generic("count_bits", 2)
