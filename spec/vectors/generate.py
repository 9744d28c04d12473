#!/usr/bin/env python3
"""Writes test-frame.json: vectors of the test frame, by an implementation of its own.

It shares nothing with the Rust, C and VHDL implementations that are checked against it: the LFSR goes bit by
bit, the checksums are added up as RFC 1071 says. Run without arguments it prints the file; with --write it
writes it beside itself. The format of the test frame is in ../test-frame.md.
"""

import json
import pathlib
import struct
import sys
import zlib

SEQUENCES = [0, 1, 4095, 4096, 2**32 - 1]
LENGTHS = [0, 1, 3, 4, 28, 1454, 1482, 8982]
FLAGS = {"none": 0, "time-valid": 1, "node-clock": 2, "repeating": 4, "reserved": 8, "all": 15}
# x^7 + x^6 + x^2 + 1; the term x^32 is the bit that leaves at the top.
POLYNOMIAL = 1 << 7 | 1 << 6 | 1 << 2 | 1 << 0
ADDRESSES = bytes.fromhex("02574c000002"), bytes.fromhex("02574c000001")
WHOLE = 64  # LFSR parts of up to so many bytes are written out


def words(count):
    state = 0xFFFFFFFF
    for _ in range(count):
        yield state
        for _ in range(32):
            leaves = state >> 31
            state = state << 1 & 0xFFFFFFFF
            if leaves:
                state ^= POLYNOMIAL


STREAM = b"".join(struct.pack(">I", word) for word in words(4096 + 2304))


def lfsr(sequence, length):
    start = 4 * (sequence % 4096)
    return STREAM[start : start + length]


def ones_complement_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = 0
    for (word,) in struct.iter_unpack(">H", data):
        total += word
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data):
    return ~ones_complement_sum(data) & 0xFFFF


def header(flags=0, stream=0, sequence=0, time_ns=0, lfsr_len=0):
    head = b"WL" + bytes([0x10 | flags, stream]) + struct.pack(">I", sequence)
    head += struct.pack(">Q", time_ns % 2**48)[2:] + struct.pack(">H", lfsr_len)
    return head + struct.pack(">H", checksum(head))


def inverted(data, bit):
    damaged = bytearray(data)
    damaged[bit // 8] ^= 0x80 >> bit % 8
    return bytes(damaged)


def part(data):
    entry = {"bytes": len(data), "crc32": f"{zlib.crc32(data):08x}"}
    if len(data) <= WHOLE:
        entry["hex"] = data.hex()
    else:
        entry["first_hex"], entry["last_hex"] = data[:16].hex(), data[-16:].hex()
    return entry


def vector(name, verdict="good", damage_header=None, data=None, **fields):
    fields = {"flags": 0, "stream": 0, "sequence": 0, "time_ns": 0, "lfsr_len": 0} | fields
    head = header(**fields)
    if damage_header is not None:
        head = inverted(head, damage_header)
    if data is None:
        data = lfsr(fields["sequence"], fields["lfsr_len"])
    return {"name": name, "header": fields, "header_hex": head.hex(), "lfsr": part(data), "verdict": verdict}


def vectors():
    for sequence in SEQUENCES:
        for length in LENGTHS:
            yield vector(f"sequence {sequence}, {length} bytes", sequence=sequence, lfsr_len=length)
    for name, flags in FLAGS.items():
        yield vector(f"flags: {name}", flags=flags, stream=7, sequence=77, time_ns=123456789, lfsr_len=28)
    yield vector("latest time", flags=1, stream=255, time_ns=2**48 - 1, lfsr_len=28)
    for bit, field in [(0, "magic"), (16, "version"), (23, "flags"), (40, "sequence"), (111, "time"), (127, "length"),
                       (128, "checksum, first bit"), (143, "checksum, last bit")]:
        yield vector(f"bad checksum: {field}", "header_corrupt", damage_header=bit, sequence=5, lfsr_len=28)
    content = lfsr(9, 28)
    yield vector("truncated by one byte", "truncated", data=content[:27], sequence=9, lfsr_len=28)
    yield vector("truncated to nothing", "truncated", data=b"", sequence=9, lfsr_len=28)
    yield vector("content of the sequence before", "stale", data=lfsr(8, 28), sequence=9, lfsr_len=28) | {"start_word": 8}
    yield vector("content of 4,095 sequences before", "stale", data=lfsr(10, 28), sequence=4105, lfsr_len=28) | {"start_word": 10}
    yield vector("one word of another sequence", "stale", data=lfsr(4095, 4), sequence=0, lfsr_len=4) | {"start_word": 4095}
    yield vector("first bit wrong", "corrupted", data=inverted(content, 0), sequence=9, lfsr_len=28)
    yield vector("last bit wrong", "corrupted", data=inverted(content, 28 * 8 - 1), sequence=9, lfsr_len=28)
    yield vector("too short to be told from stale", "corrupted", data=lfsr(1, 3), sequence=0, lfsr_len=3)


def udp(source, destination, pseudo, data):
    head = struct.pack(">HHHH", 5003, 5003, 8 + len(data), 0)
    pseudo += struct.pack(">I", 8 + len(data)) + struct.pack(">I", 17)
    value = checksum(source + destination + pseudo + head + data) or 0xFFFF
    return head[:6] + struct.pack(">H", value) + data


def ipv4(data):
    source, destination = bytes([198, 18, 0, 1]), bytes([198, 18, 0, 2])
    segment = udp(source, destination, b"", data)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 17, 0) + source + destination
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + segment


def ipv6(data):
    source, destination = (bytes.fromhex("fd57004c00000000000000000000") + bytes([0, n]) for n in (1, 2))
    segment = udp(source, destination, b"", data)
    return struct.pack(">IHBB", 6 << 28, len(segment), 17, 64) + source + destination + segment


def frames():
    for name, layer, ethertype, wrap, tags, frame in [
        ("smallest Ethernet", "ethernet", 0x88B5, bytes, [], 64),
        ("smallest tagged Ethernet", "ethernet", 0x88B5, bytes, [0x2064], 64),
        ("two tags", "ethernet", 0x88B5, bytes, [0x2064, 0x0007], 68),
        ("smallest UDP/IPv4", "udp_ipv4", 0x0800, ipv4, [], 64),
        ("smallest tagged UDP/IPv4", "udp_ipv4", 0x0800, ipv4, [5], 68),
        ("UDP/IPv4 with an odd datagram", "udp_ipv4", 0x0800, ipv4, [], 73),
        ("smallest UDP/IPv6", "udp_ipv6", 0x86DD, ipv6, [], 84),
    ]:
        around = 14 + 4 * len(tags) + {"ethernet": 0, "udp_ipv4": 28, "udp_ipv6": 48}[layer]
        fields = {"flags": 1, "stream": 3, "sequence": 4097, "time_ns": 0x010203040506}
        fields["lfsr_len"] = frame - 4 - around - 18
        data = header(**fields) + lfsr(fields["sequence"], fields["lfsr_len"])
        out = ADDRESSES[0] + ADDRESSES[1]
        for number, tag in enumerate(tags):
            out += struct.pack(">HH", 0x88A8 if len(tags) == 2 and number == 0 else 0x8100, tag)
        out += struct.pack(">H", ethertype) + wrap(data)
        assert len(out) == frame - 4, name
        yield {"name": name, "layer": layer, "vlan_tags": tags, "frame_bytes": frame, "header": fields, "hex": out.hex()}


def text():
    document = {
        "format": "wirelab-test-frame-vectors",
        "version": 1,
        "about": "Written by generate.py. An LFSR part of more than 64 bytes is given by its first and last 16 bytes "
        "and the CRC-32 (IEEE 802.3) of all of it. The verdict is that of a receiver that knows the sender. "
        "All frames go from 02:57:4c:00:00:01 to 02:57:4c:00:00:02, from 198.18.0.1 to 198.18.0.2 or from "
        "fd57:4c::1 to fd57:4c::2, from port 5003 to port 5003; hex is the frame without FCS.",
        "vectors": list(vectors()),
        "frames": list(frames()),
    }
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        pathlib.Path(__file__).with_name("test-frame.json").write_text(text())
    else:
        sys.stdout.write(text())
