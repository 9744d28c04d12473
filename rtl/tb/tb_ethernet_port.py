"""Narrow counts for the test of tb_ethernet_port in which all of them overflow."""

NARROW = "counts that run over are shown by the registers until they are cleared"


def configure(bench, _folder, seed):
    """Give each test its random numbers and the width of its counts."""
    for test in bench.get_tests():
        test.add_config(f"seed_{seed}", generics={"seed": seed, "count_bits": 2 if test.name == NARROW else 32})
