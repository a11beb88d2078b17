// SPDX-License-Identifier: Apache-2.0
// Rows are added by 64: the file grows by as many, and the new part is mapped somewhere, so what was mapped before
// stays where it is. Memory is touched only when a row is used.
#include "base/counts_page.hpp"

#include "base/descriptor.hpp"
#include "base/pages.hpp"
#include "base/resize.hpp"

#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace onesea {
namespace {

constexpr std::size_t chunk_bytes = counts_page::rows_at_once * sizeof(pair_row);
static_assert(sizeof(counts_header) <= page_bytes && chunk_bytes % page_bytes == 0);

void lay_out(counts_header &h, int rank, unsigned slots)
{
    h.magic = counts_magic;
    h.version = counts_version;
    h.rank = rank;
    h.windows = std::bit_ceil(slots);
    h.owners_at = page_bytes;
    h.windows_at = round_up(h.owners_at + h.windows * sizeof(std::int32_t), 64);
    h.rows_at = page_up(h.windows_at + h.windows * sizeof(sea_window_));
}

void *map_part(int fd, std::size_t bytes, std::uint64_t at)
{
    const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, fd < 0 ? 0 : off_t(at));
    return memory == MAP_FAILED ? nullptr : memory;
}

counts_header *anonymous_header()
{
    counts_header sizes{};
    lay_out(sizes, -1, 1);
    void *memory = map_part(-1, sizes.rows_at, 0);
    if (!memory) throw std::bad_alloc();
    lay_out(*static_cast<counts_header *>(memory), -1, 1);
    return static_cast<counts_header *>(memory);
}

} // namespace

void wait_report::write(std::uint32_t question, std::string_view what)
{
    what = what.substr(0, sizeof text);
    what.copy(text, what.size());
    bytes.store(std::uint32_t(what.size()), std::memory_order_relaxed);
    answers.store(question, std::memory_order_release);
}

counts_page::counts_page(int fd, counts_header *header)
    : fd_(fd), header_(header ? header : anonymous_header()), rows_at_(header_->rows_at)
{
    auto *start = reinterpret_cast<std::byte *>(header_);
    owners_ = {reinterpret_cast<std::int32_t *>(start + header_->owners_at), header_->windows};
    windows_ = {reinterpret_cast<sea_window_ *>(start + header_->windows_at), header_->windows};
}

counts_page::~counts_page()
{
    for (pair_row *chunk : chunks_) munmap(chunk, chunk_bytes);
    munmap(header_, rows_at_);
    if (fd_ >= 0) ::close(fd_);
}

int counts_page::create(int rank, unsigned slots, std::uint64_t job)
{
    int fd = above_standard(memfd_create(counts_name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0) return -errno;
    counts_header sizes{};
    lay_out(sizes, rank, slots);
    bool good = resize(fd, sizes.rows_at) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
    void *memory = good ? map_part(fd, sizes.rows_at, 0) : nullptr;
    if (!memory) {
        int error = errno;
        ::close(fd);
        return -error;
    }
    lay_out(*static_cast<counts_header *>(memory), rank, slots);
    static_cast<counts_header *>(memory)->job = job;
    munmap(memory, sizes.rows_at);
    return fd;
}

std::unique_ptr<counts_page> counts_page::map(int fd, int *error)
{
    auto refuse = [error](int code) {
        *error = code;
        return nullptr;
    };
    struct stat info;
    if (fstat(fd, &info) != 0) return refuse(errno);
    if (std::uint64_t(info.st_size) < page_bytes) return refuse(EPROTO);
    auto *head = static_cast<counts_header *>(map_part(fd, page_bytes, 0));
    if (!head) return refuse(errno);
    counts_header expected{};
    lay_out(expected, head->rank, head->windows);
    const bool good = head->magic == counts_magic && head->version == counts_version && head->windows &&
                      head->windows == expected.windows && head->owners_at == expected.owners_at &&
                      head->windows_at == expected.windows_at && head->rows_at == expected.rows_at &&
                      std::uint64_t(info.st_size) == expected.rows_at;
    munmap(head, page_bytes);
    if (!good) return refuse(EPROTO);
    auto *whole = static_cast<counts_header *>(map_part(fd, expected.rows_at, 0));
    if (!whole) return refuse(errno);
    whole->pid.store(int(getpid()), std::memory_order_release);
    return std::unique_ptr<counts_page>(new counts_page(fd, whole));
}

pair_row *counts_page::add_rows()
{
    const std::uint64_t at = rows_at_ + chunks_.size() * chunk_bytes;
    if (fd_ >= 0 && resize(fd_, at + chunk_bytes) != 0) return nullptr;
    auto *chunk = static_cast<pair_row *>(map_part(fd_, chunk_bytes, at));
    if (chunk) chunks_.push_back(chunk);
    return chunk;
}

pair_row &counts_page::row_of(int rank)
{
    std::lock_guard lock(mutex_);
    pair_row *&row = row_of_[rank];
    if (row) return *row;
    const std::uint32_t n = rows_;
    if (n / rows_at_once < chunks_.size() || add_rows()) {
        row = chunks_[n / rows_at_once] + n % rows_at_once;
        row->rank = rank;
        rows_ = n + 1;
        header_->rows.store(rows_, std::memory_order_release);
    } else {
        if (!nobodys_) nobodys_ = std::make_unique<pair_row>();
        ++header_->process.unrecorded;
        row = nobodys_.get();
    }
    return *row;
}

pair_row *counts_page::find(int rank)
{
    std::lock_guard lock(mutex_);
    auto known = row_of_.find(rank);
    return known == row_of_.end() ? nullptr : known->second;
}

} // namespace onesea
