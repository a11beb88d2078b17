# SPDX-License-Identifier: Apache-2.0
"""AEGIS-128L and AEGIS-128X4 with tags of 128 bits, as draft-irtf-cfrg-aegis-aead-18 describes them.

A second opinion on what the net layer gets from its library, not a cipher to use: it is slow and its time tells the
key. The degree of parallelism is a parameter: 1 is AEGIS-128L, 4 is AEGIS-128X4. Sections named here are the draft's.

A block of 16 bytes is an int whose lowest byte is the first one, so LE64(a) || LE64(b) is a | b << 64.
"""

BLOCK = 16
TAG_BITS = 128


def double(value):
    """Times x in the field of AES (FIPS 197, 4.2.1)."""
    return (value << 1) ^ (0x11B if value & 0x80 else 0)


def field_product(a, b):
    result = 0
    while b:
        if b & 1:
            result ^= a
        a = double(a)
        b >>= 1
    return result


def substitution():
    """The S-box (FIPS 197, 5.1.1): the inverse in the field, then an affine map of its bits."""
    box = []
    for value in range(256):
        inverse = next((x for x in range(256) if field_product(value, x) == 1), 0)
        result = 0x63
        for turn in range(5):
            result ^= (inverse << turn | inverse >> (8 - turn)) & 0xFF
        box.append(result)
    return box


def round_tables():
    """Per byte of a block what it adds to the block after SubBytes, ShiftRows and MixColumns: these are linear in the
    substituted bytes, so that a round is the sum of 16 of these values."""
    box = substitution()
    tables = []
    for position in range(BLOCK):
        column, row = divmod(position, 4)
        to = (column - row) % 4  # ShiftRows: row r turns left by r columns
        table = []
        for value in range(256):
            column_bytes = bytearray(4)
            for below, factor in enumerate((2, 1, 1, 3)):  # MixColumns: the row's own share, then the rows below it
                column_bytes[(row + below) % 4] = field_product(box[value], factor)
            table.append(int.from_bytes(column_bytes, "little") << 32 * to)
        tables.append(table)
    return tables


TABLES = round_tables()


def aes_round(block, key):
    """AESRound(in, rk): one round of AES encryption (2)."""
    for table in TABLES:
        key ^= table[block & 0xFF]
        block >>= 8
    return key


def fibonacci_constants():
    """C0 and C1 (2): the Fibonacci sequence modulo 256, one number a byte."""
    numbers = [0, 1]
    while len(numbers) < 2 * BLOCK:
        numbers.append((numbers[-1] + numbers[-2]) % 256)
    return to_block(bytes(numbers[:BLOCK])), to_block(bytes(numbers[BLOCK:]))


def to_block(data):
    return int.from_bytes(data, "little")


def to_bytes(block):
    return block.to_bytes(BLOCK, "little")


class State:
    """As many states of AEGIS-128L as the degree says; lanes[i][j] is the draft's V[j,i]."""

    def __init__(self, degree, key, nonce):
        """Init (5.4.2; with degree 1 the same as 3.4)."""
        assert len(key) == BLOCK and len(nonce) == BLOCK
        c0, c1 = fibonacci_constants()
        k, n = to_block(key), to_block(nonce)
        self.degree = degree
        self.rate = 2 * BLOCK * degree
        self.lanes = [[k ^ n, c1, c0, c1, k ^ n, k ^ c0, k ^ c1, k ^ c0] for _ in range(degree)]
        for _ in range(10):
            for i, lane in enumerate(self.lanes):
                context = i | (degree - 1) << 8
                lane[3] ^= context
                lane[7] ^= context
            self.update([n] * degree, [k] * degree)

    def update(self, m0, m1):
        for i, s in enumerate(self.lanes):
            fed = list(s)
            fed[0] ^= m0[i]
            fed[4] ^= m1[i]
            self.lanes[i] = [aes_round(s[j - 1], fed[j]) for j in range(8)]

    def halves(self, block):
        """Both halves of a block of the rate, each as one block per state."""
        blocks = [to_block(block[at:at + BLOCK]) for at in range(0, self.rate, BLOCK)]
        return blocks[:self.degree], blocks[self.degree:]

    def absorb(self, data):
        for block in self.padded(data):
            self.update(*self.halves(block))

    def encrypt(self, text):
        result = b""
        for block in self.padded(text):
            t0, t1 = self.halves(block)
            z0 = [s[6] ^ s[1] ^ (s[2] & s[3]) for s in self.lanes]
            z1 = [s[2] ^ s[5] ^ (s[6] & s[7]) for s in self.lanes]
            self.update(t0, t1)
            result += b"".join(to_bytes(t ^ z) for t, z in zip(t0 + t1, z0 + z1))
        return result[:len(text)]

    def padded(self, data):
        data += bytes(-len(data) % self.rate)
        return [data[at:at + self.rate] for at in range(0, len(data), self.rate)]

    def stir(self, low, high):
        """Mixes two numbers in, which ends every kind of input; returns a tag per state."""
        t = [s[2] ^ (low | high << 64) for s in self.lanes]
        for _ in range(7):
            self.update(t, t)
        return [s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] for s in self.lanes]


def encrypt(degree, key, nonce, data, text):
    """Encrypt (5.2; with degree 1 the same as 3.1): text under associated data; returns ciphertext and tag."""
    state = State(degree, key, nonce)
    state.absorb(data)
    ciphertext = state.encrypt(text)
    tag = 0
    for share in state.stir(8 * len(data), 8 * len(text)):
        tag ^= share
    return ciphertext, to_bytes(tag)


def mac(degree, key, nonce, data):
    """Mac (8.3; with degree 1 the same as 8.1); returns the tag."""
    state = State(degree, key, nonce)
    state.absorb(data)
    tags = state.stir(8 * len(data), TAG_BITS)
    if degree > 1:
        # The tags of all states, two at a time, go into the first one; only that one counts from here.
        state.lanes = state.lanes[:1]
        for first, second in zip(tags[::2], tags[1::2]):
            state.update([first], [second])
        tags = state.stir(degree, TAG_BITS)
    return to_bytes(tags[0])
