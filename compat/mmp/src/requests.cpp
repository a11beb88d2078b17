// SPDX-License-Identifier: Apache-2.0
#include "requests.hpp"

#include <mutex>
#include <new>

namespace mmp {
namespace {

union immortal {
    request_table table{};
    constexpr immortal() {}
    ~immortal() {}
};
constinit immortal all;

} // namespace

request_table &requests() { return all.table; }

request_table::~request_table()
{
    for (std::uint32_t i = 0; i < made_; ++i) delete chunks_[i].load(std::memory_order_relaxed);
}

bool request_table::grow()
{
    if (made_ == chunks) return false;
    auto *fresh = new (std::nothrow) chunk;
    if (fresh == nullptr) return false;
    for (std::uint32_t i = in_chunk; i-- > 0;) {
        request &r = (*fresh)[i];
        r.place = made_ * in_chunk + i;
        r.next_free = free_;
        free_ = &r;
    }
    chunks_[made_++].store(fresh, std::memory_order_release);
    return true;
}

request *request_table::take()
{
    std::lock_guard guard(lock_);
    if (free_ == nullptr && !grow()) return nullptr;
    request *r = free_;
    free_ = r->next_free;
    r->turn.store(r->turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return r;
}

bool request_table::retire(request &r, MP_request number)
{
    std::lock_guard guard(lock_);
    if (number_of(r) != number) return false;
    r.turn.store(r.turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    r.next_free = free_;
    free_ = &r;
    return true;
}

MP_request request_table::number_of(const request &r)
{
    return std::uint64_t(r.turn.load(std::memory_order_relaxed)) << 32 | (r.place + 1);
}

request *request_table::find(MP_request number) const
{
    const auto place = static_cast<std::uint32_t>(number) - 1; // none is past the end
    const auto turn = static_cast<std::uint32_t>(number >> 32);
    if (place / in_chunk >= chunks || turn % 2 == 0) return nullptr;
    chunk *there = chunks_[place / in_chunk].load(std::memory_order_acquire);
    if (there == nullptr) return nullptr;
    request &r = (*there)[place % in_chunk];
    return r.turn.load(std::memory_order_acquire) == turn ? &r : nullptr;
}

bool request_table::operation_of(const request &r, MP_request number, sea_op *op)
{
    *op = r.op.load(std::memory_order_acquire);
    return number_of(r) == number;
}

} // namespace mmp
