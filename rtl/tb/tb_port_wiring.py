"""The scripts of tb_port_wiring, each a configuration of its test."""

import port_line
import port_watch
from port_script import Script

# Width of the counts in the script in which they overflow.
NARROW = 2
SCRIPTS = {
    "overflows": lambda: port_line.overflows(NARROW),
    "mac": port_line.mac,
    "generator": port_line.generator,
    "checker": port_line.checker,
    "identifier": port_watch.identifier,
    "capture": port_watch.capture,
    "rate": port_watch.rate,
    "clears": port_watch.clears,
    "stand_ins": port_watch.stand_ins,
    "high_words": port_line.high_words,
}
# The scripts for the port of stand-ins.
TO_STAND_INS = ("stand_ins", "high_words")


def configure(bench, folder, seed):
    """Gives the test its scripts; the seed changes only the values of the settings, which every bit stores."""
    for name, made in SCRIPTS.items() | {("settings", lambda: Script().settings(seed))}:
        path = folder / f"port_wiring_{name}_seed_{seed}.txt"

        def write(output_path, path=path, made=made):
            path.write_text("".join(f"{line}\n" for line in made().lines))
            return True

        bits = NARROW if name == "overflows" else 32
        generics = {"script": str(path), "count_bits": bits, "stands_in": name in TO_STAND_INS}
        bench.test("script").add_config(f"{name}_seed_{seed}", generics=generics, pre_config=write)
