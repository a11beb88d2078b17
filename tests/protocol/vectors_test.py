#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test vectors of docs/protocol.md, computed again from the words of that page.

Nothing here is shared with src/net: what the page says, what its vectors show and what the library computes can only
agree if all three are right. The tests of src/net read the same lines.

    vectors_test.py            compares
    vectors_test.py --print    writes the vectors as the page has them
"""

import struct
import sys
import unittest
from hashlib import blake2b
from pathlib import Path

sys.dont_write_bytecode = True
import aegis  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"

JOB_KEY = bytes(range(32))
VERSION = 1
HEADER = 32
TAG = 16
SHORT = 1024  # packets up to here, without their tag, have the short key
BUNDLE, ORDERED, AT_ONCE, CLOSE, BROKEN, FIRST, MORE, PART = 1, 2, 4, 8, 16, 32, 64, 128  # flags of a packet


def job_hash(message, size):
    return blake2b(message, key=JOB_KEY, digest_size=size).digest()


def job_tag():
    return job_hash(b"onesea job tag 1\0", 16)[:4]


def link_keys(mode, source, target):
    """The short and the long key of one direction; the epoch is 0."""
    label = {"auth": b"onesea link keys 2 auth\0", "encrypt": b"onesea link keys 2 encrypt\0"}[mode]
    both = job_hash(label + struct.pack("<III", source, target, 0), 32)
    return both[:16], both[16:]


def header(flags, acknowledgement, source, target, number, bundle=0, train=0):
    return (struct.pack("<BBH", VERSION, flags, len(acknowledgement)) + job_tag()
            + struct.pack("<IIQ", source, target, number) + bundle.to_bytes(6, "little") + struct.pack("<H", train))


def acknowledgement(largest, executed, delay, window, words):
    notices, whole = 0, 0
    return struct.pack(f"<QQIIII{len(words)}Q", largest, executed, delay, window, notices, whole, *words)


def frame(payload):
    """The one frame of the sample packet."""
    kind, flags, aux, position, number = 1, 2, 0, 4096, 17
    return struct.pack("<BBHIQQ", kind, flags, aux, len(payload), position, number) + payload + bytes(-len(payload) % 8)


def counting(size):
    return bytes(i % 256 for i in range(size))


def sample(payload_bytes, number=5, bundle=3, flags=0, train=0):
    """The packet from which the vectors are made, without its tag."""
    ack = acknowledgement(9, 7, 1000, 65536, [0x1FF])
    return header(BUNDLE | AT_ONCE | flags, ack, 1, 2, number, bundle, train) + ack + frame(counting(payload_bytes))


def cipher(mode, covered):
    """Degree of AEGIS and key for so many bytes; the packet's header names source and target."""
    source, target = struct.unpack_from("<II", covered, 8)
    short, long = link_keys(mode, source, target)
    return (1, short) if len(covered) <= SHORT else (4, long)


def seal(mode, packet):
    """The packet as it goes over the wire: behind it, or behind its ciphertext, the tag."""
    degree, key = cipher(mode, packet)
    if mode == "auth":
        return packet + aegis.mac(degree, key, bytes(16), packet)
    nonce = packet[16:24] + bytes(8)  # the packet number
    ciphertext, tag = aegis.encrypt(degree, key, nonce, packet[:HEADER], packet[HEADER:])
    return packet[:HEADER] + ciphertext + tag


def sample_train(mode):
    """The packet with 200 bytes of payload as datagrams of 136 bytes."""
    length = 136
    packet = seal(mode, sample(200, flags=FIRST | MORE, train=length))
    datagrams, rest = [packet[:length]], packet[length:]
    while rest:
        content, rest = rest[:length - HEADER], rest[length - HEADER:]
        start = bytearray(datagrams[0][:HEADER])
        start[1] = MORE if rest else 0
        start[2:4] = struct.pack("<H", len(datagrams))
        datagrams.append(bytes(start) + content)
    return datagrams


def sample_bare_train():
    """The same as a bare train."""
    return seal("auth", sample(200, flags=FIRST, train=len(sample(200)) + TAG))


def sample_part():
    """The second of three parts of the frame with 200 bytes of payload, packet 6, no acknowledgement."""
    whole, index, count = frame(counting(200)), 1, 3
    each = (-(-len(whole) // count) + 7) // 8 * 8
    part = whole[index * each:(index + 1) * each]
    return header(BUNDLE | PART, b"", 1, 2, 6, 3) + struct.pack("<HHI", index, count, len(whole)) + part


def close():
    return header(CLOSE, b"", 1, 2, 0)


def close_after_packet():
    ack = acknowledgement(5, 0, 1000, 262144, [0] * 16)
    return header(CLOSE, ack, 2, 1, 0) + ack


def acknowledgement_while_it_waits():
    ack = acknowledgement(6, 0, 500, 262144, [1] + [0] * 15)
    return header(0, ack, 2, 1, 0) + ack


def vectors():
    result = {"job tag": job_tag()}
    for mode in ("auth", "encrypt"):
        short, long = link_keys(mode, 1, 2)
        result[f"{mode}, short key"] = short
        result[f"{mode}, long key"] = long
    for mode in ("auth", "encrypt"):
        result[f"{mode}, packet"] = seal(mode, sample(8))
    for mode in ("auth", "encrypt"):
        result[f"{mode}, tag of the long packet"] = seal(mode, sample(1024))[-TAG:]
    for mode in ("auth", "encrypt"):
        for i, datagram in enumerate(sample_train(mode)):
            result[f"{mode}, datagram {i + 1} of the train"] = datagram
    result["auth, bare train"] = sample_bare_train()
    result["auth, part"] = seal("auth", sample_part())
    result["auth, packet that waits"] = seal("auth", sample(8, number=6, bundle=4, flags=ORDERED))
    result["auth, acknowledgement while it waits"] = seal("auth", acknowledgement_while_it_waits())
    for mode in ("auth", "encrypt"):
        result[f"{mode}, close"] = seal(mode, close())
        result[f"{mode}, close after the packet"] = seal(mode, close_after_packet())
    result["auth, broken, asks"] = seal("auth", header(BROKEN | AT_ONCE, b"", 1, 2, 7))
    result["auth, broken, answer"] = seal("auth", header(BROKEN, b"", 2, 1, 0))
    return result


def documented(page):
    """Name and hex digits of every line "name = hex" in the section of the page that has the vectors."""
    section = page.split("\n## Test vectors\n", 1)[1].split("\n## ", 1)[0]
    return dict(line.split(" = ") for line in section.splitlines() if " = " in line)


class Vectors(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.page = documented(PAGE.read_text(encoding="utf-8"))

    def test_page_has_every_vector_and_no_other(self):
        self.assertEqual(sorted(self.page), sorted(vectors()))

    def test_vectors_are_what_the_page_says(self):
        for name, expected in vectors().items():
            with self.subTest(vector=name):
                self.assertEqual(self.page.get(name), expected.hex())

    def test_vectors_show_both_ciphers(self):
        # Else a page without a long packet would prove nothing about the long key.
        self.assertLessEqual(len(sample(8)), SHORT)
        self.assertGreater(len(sample(1024)), SHORT)


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print("".join(f"{name} = {value.hex()}\n" for name, value in vectors().items()), end="")
    else:
        unittest.main()
