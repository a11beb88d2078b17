#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""aegis.py against the test vectors that draft-irtf-cfrg-aegis-aead-18 publishes in its appendix A."""

import sys
import unittest

sys.dont_write_bytecode = True
import aegis  # noqa: E402

KEY = bytes.fromhex("10010000000000000000000000000000")
NONCE = bytes.fromhex("10000200000000000000000000000000")
WIDE_KEY = bytes(range(16))
WIDE_NONCE = bytes(range(16, 32))

# associated data, text, ciphertext, tag
NARROW = [
    ("", "00000000000000000000000000000000", "c1c0e58bd913006feba00f4b3cc3594e", "abe0ece80c24868a226a35d16bdae37a"),
    ("", "", "", "c2b879a67def9d74e6c14f708bbcc9b4"),
    ("0001020304050607", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "79d94593d8c2119d7e8fd9b8fc77845c5c077a05b2528b6ac54b563aed8efe84", "cc6f3372f6aa1bb82388d695c3962d9a"),
    ("0001020304050607", "000102030405060708090a0b0c0d", "79d94593d8c2119d7e8fd9b8fc77",
     "5c04b3dba849b2701effbe32c7f0fab7"),
    ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223242526272829",
     "101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
     "b31052ad1cca4e291abcf2df3502e6bdb1bfd6db36798be3607b1f94d34478aa7ede7f7a990fec10",
     "7542a745733014f9474417b337399507"),
]
WIDE = [
    ("", "", "", "5bef762d0947c00455b97bb3af30dfa3"),
    ("0102030401020304", "04050607" * 30,
     "e836118562f4479c9d35c17356a833114c21f9aa39e4dda5e5c87f4152a00fce9a7c38f832eafe8b1c12f8a7cf12a81a"
     "1ad8a9c24ba9dedfbdaa586ffea67ddc801ea97d9ab4a872f42d0e352e2713dacd609f9442c17517c5a29daf3e2a3fac"
     "4ff6b1380c4e46df7b086af6ce6bc1ed594b8dd64aed2a7e", "0e56ab94e2e85db80f9d54010caabfb4"),
]
WIDE_INITIAL = """
924eb07635003a37e6c6575ba8ce1929 c8b6a5d91475445e936d48e794be0ce2
fcd37d050e24084befe3bbb219d64760 2e9f58cfb893a8800220242c373a8b18
1a1f60c4fab64e5471dc72edfcf6fe6b c1e525ebea2d6375a9edd045dce96381
97a3e25abd228a44d4a14a6d3fe9185c c2d4cf7f4287a98744645674265d4ca8
7bb50c534f6ec4780530ff1cce8a16e8 7b08d57557da0b5ef7b5f7d98b0ba189
6bfcac34ddb68404821a4d665303cb0f d95626f6dfad1aed7467622c38529932
af339fd2d50ee45fc47665c647cf6586 d0669b39d140f0e118a4a511efe2f95a
7a94330f35c194fadda2a87e42cdeccc 233b640d1f4d56e2757e72c1a9d8ecb1
9f93737d699ba05c11e94f2b201bef5e 61caf387cf7cfd3f8300ac7680ccfd76
5825a671ecef03b7a9c98a601ae32115 87a1fe4d558161a8f4c38731f3223032
7a5aca78d636c05bbc702b2980196ab6 915d868408495d07eb527789f282c575
d0947bfbc1d3309cdffc9be1503aea62 8834ea57a15b9fbdc0245464a4b8cbef
e46f4cf71a95ac45b6f0823e3aba1a86 8c4ecef682fc44a8eba911b3fc7d99f9
a4fb61e2c928a2ca760b8772f2ea5f2e 3d34ea89da73caa3016c280500a155a3
85075f0080e9d618e7eb40f57c32d9f7 d2ab2b320c6e93b155a3787cb83e5281
0b3af0250ae36831a1b072e499929bcb 5cce4d00329d69f1aae36aa541347512
""".split()


def block(text):
    return aegis.to_block(bytes.fromhex(text))


class Aegis(unittest.TestCase):
    def test_round_is_that_of_aes(self):
        result = aegis.aes_round(block("000102030405060708090a0b0c0d0e0f"), block("101112131415161718191a1b1c1d1e1f"))
        self.assertEqual(aegis.to_bytes(result).hex(), "7a7b4e5638782546a8c0477a3b813f43")

    def test_update_mixes_both_inputs_in(self):
        state = aegis.State(1, KEY, NONCE)
        before = """9b7e60b24cc873ea894ecc07911049a3 330be08f35300faa2ebf9a7b0d274658
                    7bbd5bd2b049f7b9b515cf26fbe7756c c35a00f55ea86c3886ec5e928f87db18
                    9ebccafce87cab446396c4334592c91f 58d83e31f256371e60fc6bb257114601
                    1639b56ea322c88568a176585bc915de 640818ffb57dc0fbc2e72ae93457e39a"""
        after = """596ab773e4433ca0127c73f60536769d 790394041a3d26ab697bde865014652d
                   38cf49e4b65248acd533041b64dd0611 16d8e58748f437bfff1797f780337cee
                   9689ecdf08228c74d7e3360cca53d0a5 a21746bb193a569e331e1aa985d0d729
                   09d714e6fcf9177a8ed1cde7e3d259a6 61279ba73167f0ab76f0a11bf203bdff"""
        state.lanes = [[block(text) for text in before.split()]]
        state.update([block("033e6975b94816879e42917650955aa0")], [block("fcc1968a46b7e97861bd6e89af6aa55f")])
        self.assertEqual([aegis.to_bytes(b).hex() for b in state.lanes[0]], after.split())

    def test_four_states_begin_apart(self):
        state = aegis.State(4, WIDE_KEY, WIDE_NONCE)
        got = [aegis.to_bytes(state.lanes[i][j]).hex() for j in range(8) for i in range(4)]
        self.assertEqual(got, WIDE_INITIAL)

    def test_encrypts_as_aegis_128l(self):
        self.check_encryption(1, KEY, NONCE, NARROW)

    def test_encrypts_as_aegis_128x4(self):
        self.check_encryption(4, WIDE_KEY, WIDE_NONCE, WIDE)

    def check_encryption(self, degree, key, nonce, vectors):
        for data, text, ciphertext, tag in vectors:
            with self.subTest(data=data, text=text):
                got = aegis.encrypt(degree, key, nonce, bytes.fromhex(data), bytes.fromhex(text))
                self.assertEqual((got[0].hex(), got[1].hex()), (ciphertext, tag))

    def test_authenticates_as_aegismac(self):
        # 128L, 128X2, 128X4
        for degree, tag in ((1, "d3f09b2842ad301687d6902c921d7818"), (2, "6873ee34e6b5c59143b6d35c5e4f2c6e"),
                            (4, "c45a98fd9ab8956ce616eb008cfe4e53")):
            with self.subTest(degree=degree):
                self.assertEqual(aegis.mac(degree, KEY, NONCE, bytes(range(35))).hex(), tag)


if __name__ == "__main__":
    unittest.main()
