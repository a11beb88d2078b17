// SPDX-License-Identifier: Apache-2.0
#include "cipher/check.hpp"

#include <gtest/gtest.h>

namespace bench {
namespace {

constexpr std::size_t bytes = 256;

// A cipher of toys: the tag is a sum, the text is turned over. Each switch breaks one thing.
struct toy : cipher {
    bool hides = false, checks = true, restores = true, takes_good = true, whole = true;

    std::byte sum(const packet_parts &p) const
    {
        std::byte s{1};
        for (const auto b : p.head) s ^= b;
        if (whole)
            for (const auto b : p.text) s ^= b;
        return s;
    }
    void turn(const packet_parts &p) const
    {
        if (hides)
            for (auto &b : p.text) b ^= std::byte{0x55};
    }
    void seal(std::span<std::byte> packet, std::uint64_t) override
    {
        const packet_parts p(packet, true);
        turn(p);
        for (std::size_t i = 0; i < tag_bytes; i++) p.tag[i] = sum(p);
    }
    bool open(std::span<std::byte> packet, std::uint64_t) override
    {
        const packet_parts p(packet, true);
        for (std::size_t i = 0; i < tag_bytes; i++)
            if (checks && p.tag[i] != sum(p)) return false;
        if (restores) turn(p);
        return takes_good;
    }
};

std::string fault_with(bool hides, bool toy::*broken = nullptr)
{
    auto made = std::make_unique<toy>();
    made->hides = hides;
    if (broken) (*made).*broken = false;
    return fault_of({"toy", "peer", "1", hides, std::move(made)}, bytes);
}

TEST(cipher_check, a_good_cipher_has_no_fault)
{
    EXPECT_EQ(fault_with(false), "");
    EXPECT_EQ(fault_with(true), "");
}

TEST(cipher_check, names_what_is_wrong)
{
    EXPECT_EQ(fault_with(false, &toy::checks), "a packet of 256 bytes opens with byte 0 changed");
    EXPECT_EQ(fault_with(false, &toy::whole), "a packet of 256 bytes opens with byte 32 changed");
    EXPECT_EQ(fault_with(true, &toy::restores), "a packet of 256 bytes came back as another");
    EXPECT_EQ(fault_with(true, &toy::takes_good), "a good packet of 256 bytes does not open");
    EXPECT_EQ(fault_with(true, &toy::hides), "sealing hid nothing");
}

TEST(cipher_check, what_only_proves_must_not_change_the_packet)
{
    auto made = std::make_unique<toy>();
    made->hides = true;
    EXPECT_EQ(fault_of({"toy", "peer", "1", false, std::move(made)}, bytes), "sealing changed what stays readable");
}

} // namespace
} // namespace bench
