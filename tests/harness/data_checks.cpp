// SPDX-License-Identifier: Apache-2.0
// The checks of data that the batteries rest on: each byte counts, wherever it lies.
#include "harness.hpp"

#include <algorithm>
#include <cstring>

using namespace proof;

namespace {

constexpr std::size_t around = 9, longest = 40;
constexpr unsigned char blank = 0x5c;

struct room {
    unsigned char bytes[around + longest + around];
    room() { std::memset(bytes, blank, sizeof bytes); }
    unsigned char *at(std::size_t skew) { return bytes + skew; }
    bool untouched_around(std::size_t skew, std::size_t length) const
    {
        const auto is_blank = [](unsigned char b) { return b == blank; };
        return std::all_of(bytes, bytes + skew, is_blank) &&
               std::all_of(bytes + skew + length, bytes + sizeof bytes, is_blank);
    }
};

// Calls check(skew, length) for pieces of every length that begin at any byte of a word.
template <class Check>
void each_piece(Check &&check)
{
    for (std::size_t skew = 0; skew < around; ++skew)
        for (std::size_t length = 0; length <= longest; ++length) check(skew, length);
}

} // namespace

STEP(10, a_pattern_is_one_wherever_it_begins)
{
    unsigned char whole[around + longest];
    fill(whole, sizeof whole, 3);
    each_piece([&](std::size_t skew, std::size_t length) {
        for (std::size_t from = 0; from < around; ++from) {
            room r;
            fill(r.at(skew), length, 3, from);
            CHECK(std::memcmp(r.at(skew), whole + from, length) == 0);
            CHECK(r.untouched_around(skew, length));
            CHECK_EQ(length, differs(r.at(skew), length, 3, from));
        }
    });
}

STEP(20, the_first_wrong_byte_is_found)
{
    each_piece([&](std::size_t skew, std::size_t length) {
        for (std::size_t wrong = 0; wrong < length; ++wrong) {
            room r;
            fill(r.at(skew), length, 7, skew);
            r.at(skew)[wrong] ^= 1;
            r.at(skew)[length - 1] ^= 0x80;
            CHECK_EQ(wrong, differs(r.at(skew), length, 7, skew));
        }
    });
}

STEP(30, bytes_are_set_and_the_first_other_one_is_found)
{
    each_piece([&](std::size_t skew, std::size_t length) {
        room r;
        set_bytes(r.at(skew), length, 0xa7);
        CHECK(r.untouched_around(skew, length));
        CHECK_EQ(length, not_all(r.at(skew), length, 0xa7));
        for (std::size_t other = length; other-- > 0;) {
            r.at(skew)[other] = 0xa6;
            CHECK_EQ(other, not_all(r.at(skew), length, 0xa7));
        }
    });
}
