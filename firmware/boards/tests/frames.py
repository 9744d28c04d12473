"""Test frames (spec/test-frame.md), built and recognized by the tests of boards."""

import functools
import socket
import struct

import lab

ETHERTYPE = 0x88B5
PORT = 5003
TESTER_MAC = bytes.fromhex("0200000000fe")
START_WORDS = 4096
REPEATING = 4


@functools.cache
def stream():
    """The LFSR stream from its first word on, as long as any frame needs it."""
    words, x = [], 0xFFFFFFFF
    for _ in range(START_WORDS + 400):
        words.append(struct.pack(">I", x))
        for _ in range(32):
            x = ((x ^ 0x62) << 1 | 1) & 0xFFFFFFFF if x & 0x80000000 else x << 1
    return b"".join(words)


def data(sequence, count, flow=0, flags=0):
    """Test header and LFSR part, of so many bytes in total."""
    head = struct.pack(">2sBBI6xH", b"WL", 0x10 | flags, flow, sequence, count - 18)
    at = 4 * (sequence % START_WORDS)
    return head + struct.pack(">H", lab.checksum(head)) + stream()[at : at + count - 18]


def udp(sequence, length, port=PORT, right=True):
    """A whole frame of so many bytes without FCS to the board: UDP over IPv4 with its checksum, or a wrong one."""
    count = length - 42
    body = struct.pack(">HHHH", 6000, port, 8 + count, 0) + data(sequence, count)
    ends = socket.inet_aton(lab.HOST_IP) + socket.inet_aton(lab.BOARD_IP)
    total = lab.checksum(ends + struct.pack(">HH", 17, len(body)) + body) or 0xFFFF
    body = body[:6] + struct.pack(">H", total if right else total ^ 0x5555) + body[8:]
    return lab.ethernet(0x0800, lab.ipv4(17, body))


def ethernet(sequence, length):
    """The same with EtherType 0x88B5."""
    return lab.ethernet(ETHERTYPE, data(sequence, length - 14))


def read(frame):
    """(sequence, flags) of a frame after a check of every byte, or None for a frame of no test flow."""
    at = 14 if frame[12:14] == struct.pack(">H", ETHERTYPE) else 42
    if (at == 42 and frame[12:14] + frame[23:24] != b"\x08\x00\x11") or frame[at : at + 2] != b"WL":
        return None
    flags, flow, sequence, count = struct.unpack(">BBI6xH", frame[at + 2 : at + 16])
    assert lab.checksum(frame[at : at + 18]) == 0, frame.hex()
    assert frame[at + 18 : at + 18 + count] == data(sequence, 18 + count, flow)[18:], frame.hex()
    if at == 42:
        assert lab.checksum(frame[14:34]) == 0, frame.hex()
    return sequence, flags & 15
