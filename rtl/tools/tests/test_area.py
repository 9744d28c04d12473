"""Tests of the judge of area and clock: figures that moved, are slow or are not recorded; and one synthesis."""

import copy
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import area

SOURCES = sorted((Path(__file__).resolve().parent / "vhdl").glob("*.vhd"))
RECORD = {"block": {"sources": "0", "ecp5": {"comb": 1000, "ff": 20, "bram": 1, "mhz": 130.0}, "xc7": {"lut": 500, "ff": 20, "bram": 1}}}

PORT = RECORD["block"] | {"ecp5": RECORD["block"]["ecp5"] | {"mhz": 137.5}, "placements": {"mhz": [137.5, 140.0]}}


class Judge(unittest.TestCase):
    """Findings from figures."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = Path(folder.name, "README.md")
        self.page.write_text(f"# Blocks\n\n{area.MARKS[0]}\n{area.MARKS[1]}\n\nThe end.\n")
        self.record_file = Path(folder.name, "area.toml")
        for name, path in (("PAGE", self.page), ("RECORD", self.record_file)):
            patch = mock.patch.object(area, name, path)
            patch.start()
            self.addCleanup(patch.stop)
        area.write(RECORD)

    def findings(self, entities=("block",), everything=("block",), **changes):
        """The findings after these changes: family_figure=value."""
        found = copy.deepcopy(RECORD)
        for name, value in changes.items():
            family, figure = name.split("_")
            found["block"][family][figure] = value
        return list(area.judge(RECORD, found if changes else {}, entities, everything))

    def test_the_record_is_read_back_as_it_was_written(self):
        self.assertEqual(area.tomllib.loads(self.record_file.read_text()), RECORD)
        self.assertIn("| block | 1000 | 20 | 1 | 130.0 | 500 | 20 | 1 |", self.page.read_text())
        self.assertTrue(self.page.read_text().endswith("The end.\n"))
        self.assertEqual(self.findings(), [])

    def test_a_move_of_more_than_five_percent_shows(self):
        self.assertEqual(self.findings(ecp5_comb=1050), [])
        for value in (1051, 949):
            self.assertIn(f"block: ecp5 comb was 1000 and is {value}", self.findings(ecp5_comb=value)[0])
        # Five percent of twenty registers are one, which means nothing.
        self.assertEqual(self.findings(xc7_ff=28), [])
        self.assertEqual(len(self.findings(xc7_ff=29)), 1)

    def test_a_slow_clock_is_found_whatever_is_recorded(self):
        self.assertIn("block: 124.9 MHz on ECP5", self.findings(ecp5_mhz=124.9)[0])
        with mock.patch.dict(RECORD["block"]["ecp5"], mhz=100.0):
            area.write(RECORD)
            self.assertIn("block: 100.0 MHz", self.findings()[0])

    def test_a_port_keeps_its_margin_in_the_worst_of_ten_placements(self):
        clocks = {seed: 150.0 - seed for seed in range(1, 11)}
        with mock.patch.object(area, "place", lambda folder, entity, seed, options: ({"TRELLIS_FF": 7}, clocks[seed])):
            self.assertEqual(area.places_of_port(Path(), "ethernet_port"), ({"TRELLIS_FF": 7}, sorted(clocks.values())))
            self.assertEqual(area.best_place(Path(), "block"), ({"TRELLIS_FF": 7}, 149.0))
        record = {"ethernet_port": copy.deepcopy(PORT)}
        area.write(record)
        self.assertEqual(area.tomllib.loads(self.record_file.read_text()), record)
        self.assertEqual(list(area.judge(record, {}, record, record)), [])
        record["ethernet_port"]["ecp5"]["mhz"] = 137.4
        self.assertIn("ethernet_port: 137.4 MHz on ECP5, the limit is 137.5 MHz", list(area.judge(record, {}, record, record))[0])

    def test_four_ports_have_their_share_of_a_zynq(self):
        record = {"ethernet_port": PORT | {"datapath": {"lut": 1996}}}
        area.write(record)
        self.assertIn("without registers take 15.0 % of", list(area.judge(record, {}, record, record))[0])
        record["ethernet_port"]["datapath"]["lut"] = 1995
        area.write(record)
        self.assertEqual(area.tomllib.loads(self.record_file.read_text()), record)
        self.assertEqual(list(area.judge(record, {}, record, record)), [])
        # 4 × 1995 of 53,200.
        self.assertIn("| its datapath ×4 alone, 15.0 % | | | | | 7980 | | |", self.page.read_text())
        whole = 4 * RECORD["block"]["xc7"]["lut"]
        self.assertIn(f"| ethernet_port ×4 with its registers, {whole / 532:.1f} % of a Zynq-7020 | | | | | {whole} | | |", self.page.read_text())

    def test_what_is_not_recorded_or_gone_or_otherwise_on_the_page_is_found(self):
        self.assertIn("block: is in rtl/area.toml and no longer in rtl", self.findings(entities=(), everything=())[0])
        found = {"another": RECORD["block"]}
        self.assertIn("another: its area is not recorded", list(area.judge(RECORD, found, ["another"], ["another", "block"]))[0])
        self.page.write_text(self.page.read_text().replace("| 1000 |", "| 999 |"))
        self.assertIn("its table is not that of", self.findings()[0])


class Synthesis(unittest.TestCase):
    """Fingerprints, and the tools themselves on a small entity."""

    def test_the_fingerprint_follows_what_is_below_an_entity_and_no_comment(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, path.name) for path in SOURCES]
            for path, source in zip(paths, SOURCES):
                path.write_text(source.read_text())
            named = {path.stem: path for path in paths}
            before = {name: area.fingerprint(name, paths) for name in named}
            self.assertEqual(len(set(before.values())), len(before))
            named["wide"].write_text(f"-- Another word.\n{named['wide'].read_text()}")
            self.assertEqual(area.fingerprint("faults", paths), before["faults"])
            named["wide"].write_text(named["wide"].read_text().replace("0123456789AB", "0123456789AC"))
            self.assertNotEqual(area.fingerprint("faults", paths), before["faults"])
            self.assertEqual(area.fingerprint("chosen", paths), before["chosen"])

    def test_a_register_of_48_bits_takes_48_flip_flops_of_either_family(self):
        figures = area.synthesise("wide", SOURCES)
        self.assertEqual((figures["ecp5"]["ff"], figures["xc7"]["ff"]), (48, 48))
        self.assertEqual((figures["ecp5"]["bram"], figures["xc7"]["bram"]), (0, 0))
        # One bit of its own with two inputs, and at most one function a bit.
        self.assertTrue(1 <= figures["xc7"]["lut"] <= 49, figures)
        self.assertTrue(1 <= figures["ecp5"]["comb"] <= 97, figures)


if __name__ == "__main__":
    unittest.main()
