// SPDX-License-Identifier: Apache-2.0
#include "shm/careful_memory.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace onesea::shm {
namespace {

constexpr std::size_t page = 4096, pages = 64;

std::uint64_t address_of(const void *memory) { return reinterpret_cast<std::uint64_t>(memory); }

// 64 pages; the tests take some away.
class CarefulMemory : public testing::Test {
  protected:
    void SetUp() override
    {
        int error = 0;
        memory = careful_memory::create(&error);
        ASSERT_TRUE(memory) << std::strerror(error);
        void *m = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(MAP_FAILED, m);
        at = static_cast<unsigned char *>(m);
        std::memset(at, 0x5c, pages * page);
    }
    void TearDown() override { munmap(at, pages * page); }

    std::uint64_t place(std::size_t offset) const { return address_of(at) + offset; }
    void forbid(std::size_t first, int protection) { ASSERT_EQ(0, mprotect(at + first * page, page, protection)); }

    std::unique_ptr<careful_memory> memory;
    unsigned char *at = nullptr;
};

TEST_F(CarefulMemory, copies_every_length_to_and_from_every_alignment)
{
    std::vector<unsigned char> data(200000), back(200001);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 256);
    for (std::size_t bytes : {0, 1, 2, 4, 7, 8, 100, 4096, 16383, 16384, 65535, 65536, 65537, 131072, 200000})
        for (std::size_t skew : {0, 1, 4, 16, 31, 32, 4095}) {
            std::memset(at, 0x5c, pages * page);
            ASSERT_EQ(SEA_OK, memory->write(place(skew), data.data(), bytes));
            EXPECT_EQ(0, std::memcmp(at + skew, data.data(), bytes));
            EXPECT_EQ(0x5c, at[skew + bytes]);
            back[bytes] = 0x77;
            ASSERT_EQ(SEA_OK, memory->read(back.data(), place(skew), bytes));
            EXPECT_EQ(0, std::memcmp(back.data(), data.data(), bytes));
            EXPECT_EQ(0x77, back[bytes]);
        }
}

TEST_F(CarefulMemory, tells_memory_that_is_not_there_from_memory_that_may_not_be_written)
{
    forbid(10, PROT_NONE);
    forbid(20, PROT_READ);
    std::vector<unsigned char> data(40 * page, 1);
    for (std::size_t bytes : {std::size_t(1), std::size_t(8), page, 8 * page}) {
        EXPECT_EQ(SEA_ERR_ADDRESS, memory->write(place(10 * page), data.data(), bytes));
        EXPECT_EQ(SEA_ERR_ADDRESS, memory->read(data.data(), place(10 * page), bytes));
        EXPECT_EQ(SEA_ERR_ACCESS, memory->write(place(20 * page), data.data(), bytes));
        EXPECT_EQ(SEA_OK, memory->read(data.data(), place(20 * page), bytes));
        EXPECT_EQ(SEA_ERR_ADDRESS, memory->write(64, data.data(), bytes));
        EXPECT_EQ(SEA_ERR_ADDRESS, memory->read(data.data(), 64, bytes));
        EXPECT_EQ(SEA_ERR_ADDRESS, memory->write(std::uint64_t(1) << 61, data.data(), bytes));
        EXPECT_EQ(SEA_ERR_ADDRESS, memory->read(data.data(), std::uint64_t(1) << 61, bytes));
    }
    EXPECT_EQ(SEA_ERR_ADDRESS, memory->read(data.data(), place(0), 40 * page)); // in the middle
    EXPECT_EQ(SEA_ERR_ADDRESS, memory->write(place(0), data.data(), 40 * page));
    EXPECT_EQ(0x5c, at[20 * page]);
}

TEST_F(CarefulMemory, works_on_after_errors)
{
    forbid(10, PROT_NONE);
    std::vector<unsigned char> data(32 * page);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(SEA_ERR_ADDRESS, memory->read(data.data(), place(0), 32 * page));
        EXPECT_EQ(SEA_OK, memory->read(data.data(), place(11 * page), 32 * page));
        EXPECT_EQ(0x5c, data[0]);
        EXPECT_EQ(0x5c, data[32 * page - 1]);
    }
}

TEST_F(CarefulMemory, updates_words_as_the_processor_does)
{
    auto *word = reinterpret_cast<std::uint64_t *>(at);
    *word = 5;
    std::uint64_t old = 0;
    EXPECT_EQ(SEA_OK, memory->update(place(0), SEA_ATOMIC_ADD, 8, 3, 0, &old));
    EXPECT_EQ(5u, old);
    EXPECT_EQ(8u, *word);
    EXPECT_EQ(SEA_OK, memory->update(place(4), SEA_ATOMIC_SWAP, 4, 9, 0, &old));
    EXPECT_EQ(0u, old);
    EXPECT_EQ(std::uint64_t(9) << 32 | 8, *word);
    forbid(1, PROT_READ);
    forbid(2, PROT_NONE);
    old = 77;
    EXPECT_EQ(SEA_ERR_ACCESS, memory->update(place(page), SEA_ATOMIC_ADD, 8, 3, 0, &old));
    EXPECT_EQ(SEA_ERR_ADDRESS, memory->update(place(2 * page), SEA_ATOMIC_ADD, 8, 3, 0, &old));
    EXPECT_EQ(SEA_ERR_ADDRESS, memory->update(8, SEA_ATOMIC_ADD, 8, 3, 0, &old));
    EXPECT_EQ(77u, old);
    EXPECT_EQ(0x5c, at[page]);
}

TEST_F(CarefulMemory, loses_no_update_against_those_of_another_thread)
{
    std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t *>(at));
    word = 0;
    std::thread other([&] {
        for (int i = 0; i < 20000; ++i) word += 1;
    });
    std::uint64_t old = 0;
    for (int i = 0; i < 20000; ++i) ASSERT_EQ(SEA_OK, memory->update(place(0), SEA_ATOMIC_ADD, 8, 1, 0, &old));
    other.join();
    EXPECT_EQ(40000u, word.load());
}

TEST_F(CarefulMemory, knows_what_could_be_written_without_touching_it)
{
    forbid(10, PROT_READ);
    EXPECT_EQ(SEA_OK, memory->writable(place(3), 5 * page));
    EXPECT_EQ(SEA_OK, memory->writable(place(0), 0));
    EXPECT_EQ(SEA_OK, memory->writable(place(9 * page), page));
    EXPECT_EQ(SEA_ERR_ACCESS, memory->writable(place(9 * page), page + 1));
    EXPECT_EQ(SEA_ERR_ACCESS, memory->writable(place(11 * page - 1), 2));
    munmap(at + 20 * page, page);
    EXPECT_EQ(SEA_ERR_ADDRESS, memory->writable(place(12 * page), 20 * page));
    EXPECT_EQ(SEA_ERR_ADDRESS, memory->writable(place(20 * page + 7), 1));
    EXPECT_EQ(SEA_OK, memory->writable(place(12 * page), 8 * page));
    EXPECT_EQ(SEA_ERR_ADDRESS, memory->writable(place(21 * page), std::uint64_t(1) << 50));
    for (std::size_t i = 0; i < 9 * page; ++i) ASSERT_EQ(0x5c, at[i]);
}

TEST_F(CarefulMemory, gathered_pieces_are_written_but_for_the_bad_ones)
{
    forbid(10, PROT_NONE);
    forbid(20, PROT_READ);
    const std::uint64_t kernel = std::uint64_t(1) << 61;
    // every combination of good and bad among six
    for (unsigned bad = 0; bad < 64; ++bad) {
        std::memset(at, 0x5c, 5 * page);
        std::array<careful_memory::piece, 6> pieces;
        std::size_t filled = 0;
        for (unsigned i = 0; i < 6; ++i) {
            const std::uint64_t bad_places[] = {place(10 * page), place(20 * page), kernel};
            const std::size_t bytes = 10 + i * 50;
            pieces[i] = {bad >> i & 1 ? bad_places[i % 3] : place(i * 700), bytes, 99};
            std::memset(memory->gathered() + filled, int(i + 1), bytes);
            filled += bytes;
        }
        memory->write_gathered(pieces);
        for (unsigned i = 0; i < 6; ++i) {
            const bool is_bad = bad >> i & 1;
            EXPECT_EQ(!is_bad ? SEA_OK : i % 3 == 1 ? SEA_ERR_ACCESS : SEA_ERR_ADDRESS, pieces[i].status);
            for (std::size_t k = 0; k < 700; ++k)
                ASSERT_EQ(!is_bad && k < pieces[i].bytes ? i + 1 : 0x5c, at[i * 700 + k]) << bad << " " << i;
        }
    }
}

TEST_F(CarefulMemory, as_many_pieces_as_are_allowed_are_written_in_order)
{
    std::vector<careful_memory::piece> pieces;
    for (std::size_t i = 0; i < careful_memory::most_pieces; ++i) {
        pieces.push_back({place(i / 2 * 8), 8, 0}); // pairs on the same place: the later one stays
        std::memcpy(memory->gathered() + i * 8, &i, 8);
    }
    memory->write_gathered(pieces);
    for (std::size_t i = 1; i < careful_memory::most_pieces; i += 2) {
        std::size_t word = 0;
        std::memcpy(&word, at + i / 2 * 8, 8);
        EXPECT_EQ(i, word);
    }
}

TEST_F(CarefulMemory, a_gathered_piece_that_meets_a_bad_page_fails_and_the_next_is_written)
{
    forbid(10, PROT_NONE);
    std::memset(memory->gathered(), 1, 3 * page);
    careful_memory::piece pieces[] = {{place(9 * page + 100), 2 * page, 0}, {place(0), page, 0}};
    memory->write_gathered(pieces);
    EXPECT_EQ(SEA_ERR_ADDRESS, pieces[0].status);
    EXPECT_EQ(SEA_OK, pieces[1].status);
    EXPECT_EQ(1, at[page - 1]);
    EXPECT_EQ(0x5c, at[11 * page]);
}

TEST_F(CarefulMemory, pieces_may_be_gathered_from_any_offset_in_a_page)
{
    std::vector<unsigned char> data(careful_memory::bounce_bytes);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 256);
    for (std::size_t begin : {std::size_t(1), std::size_t(16), page - 1}) {
        std::memset(at, 0x5c, pages * page);
        std::memcpy(memory->gathered() + begin, data.data(), data.size());
        careful_memory::piece pieces[] = {{place(begin), data.size() - 100, 9}, {place(40 * page), 100, 9}};
        memory->write_gathered(pieces, begin);
        EXPECT_EQ(SEA_OK, pieces[0].status);
        EXPECT_EQ(SEA_OK, pieces[1].status);
        EXPECT_EQ(0, std::memcmp(at + begin, data.data(), data.size() - 100));
        EXPECT_EQ(0x5c, at[begin + data.size() - 100]);
        EXPECT_EQ(0, std::memcmp(at + 40 * page, data.data() + data.size() - 100, 100));
    }
}

TEST_F(CarefulMemory, the_end_of_a_file_is_no_place)
{
    char name[] = "/tmp/onesea-careful-XXXXXX";
    const int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    unlink(name);
    ASSERT_EQ(0, ftruncate(fd, page));
    void *m = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_NE(MAP_FAILED, m);
    std::uint64_t word = 1;
    EXPECT_EQ(SEA_OK, memory->write(address_of(m), &word, 8));
    EXPECT_NE(SEA_OK, memory->write(address_of(m) + page, &word, 8)); // a load there is a bus error
    EXPECT_NE(SEA_OK, memory->read(&word, address_of(m) + page, 8));
    EXPECT_NE(SEA_OK, memory->update(address_of(m) + page, SEA_ATOMIC_ADD, 8, 1, 0, &word));
    munmap(m, 2 * page);
    close(fd);
}

TEST_F(CarefulMemory, takes_no_descriptor_with_it)
{
    memory.reset();
    const int before = dup(0);
    close(before);
    std::vector<unsigned char> data(100000);
    for (int i = 0; i < 3; ++i) {
        int error = 0;
        auto one = careful_memory::create(&error);
        ASSERT_TRUE(one);
        EXPECT_EQ(SEA_OK, one->read(data.data(), place(0), data.size()));
    }
    const int after = dup(0);
    close(after);
    EXPECT_EQ(before, after);
}

} // namespace
} // namespace onesea::shm
