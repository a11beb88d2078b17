# SPDX-License-Identifier: Apache-2.0
"""heat_test.py ONESEA HEAT RANKS NODES: the job ends well and writes a PNG that a decoder of its own reads: 240 x 200
pixels, white where the upper edge is hot, black in the far corner, and colder row by row below the hot piece."""

import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path


def chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        check = struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        assert check == zlib.crc32(kind + body), f"wrong checksum of {kind}"
        yield kind, body
        at += 12 + length


def paeth(a, b, c):
    distances = [(abs(b - c), a), (abs(a - c), b), (abs(a + b - 2 * c), c)]
    return min(distances, key=lambda d: d[0])[1]


def rows(data):
    """The rows of an 8-bit RGB picture, each as bytes."""
    parts = list(chunks(data))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    assert (width, height, depth, colour, interlaced) == (240, 200, 8, 2, 0), parts[0][1]
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    line, before, result = width * 3, bytearray(width * 3), []
    assert len(raw) == height * (line + 1)
    for r in range(height):
        kind, here = raw[r * (line + 1)], bytearray(raw[r * (line + 1) + 1:(r + 1) * (line + 1)])
        for i in range(line):
            left, corner = (here[i - 3], before[i - 3]) if i >= 3 else (0, 0)
            guess = [0, left, before[i], (left + before[i]) // 2, paeth(left, before[i], corner)][kind]
            here[i] = (here[i] + guess) & 255
        result.append(bytes(here))
        before = here
    return result


def main(onesea, heat, ranks, nodes):
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "heat.png"
        subprocess.run([onesea, "run", "-n", ranks, "--nodes", nodes, "--timeout", "90", heat, str(picture)], check=True)
        pixels = rows(picture.read_bytes())
    middle = [sum(row[120 * 3:121 * 3]) for row in pixels]
    assert middle[0] == 3 * 255, f"the hot edge is {middle[0]}"
    assert all(a >= b for a, b in zip(middle, middle[1:100])), "it does not get colder from the hot edge on"
    assert middle[10] < middle[0] and middle[10] > middle[60], "nothing has flowed"
    assert pixels[199][-3:] == b"\0\0\0", "the far corner is not cold"


main(*sys.argv[1:])
