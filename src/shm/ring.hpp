// SPDX-License-Identifier: Apache-2.0
// One-way record queue from one slot to another: one producer process, one consumer process, lock-free. A record is a
// frame and its payload; records do not wrap, the rest of the buffer before the end is skipped. A producer killed
// anywhere leaves a queue that ends at its last whole record.
//
//   | u64 record bytes | frame (24) | payload, padded to 8 |     record bytes 0: skip to the start of the buffer
#pragma once

#include "base/copy.hpp"
#include "base/frame.hpp"
#include "base/told_order.hpp"
#include "shm/arena.hpp"

#include <cstring>
#include <span>

namespace onesea::shm {

inline constexpr std::size_t record_head = 8 + sizeof(frame);

// The longest payload of a record in a ring of so many bytes.
constexpr std::size_t ring_max_payload(std::size_t ring_bytes) { return ring_bytes / 4 - record_head; }

class ring {
  public:
    // `bytes` of data: a power of two.
    ring(ring_control &control, std::byte *data, std::size_t bytes) : control_(&control), data_(data), bytes_(bytes) {}

    // Producer: appends a record of prefix and payload; false if there is no room. position(): its end in the stream.
    bool push(const frame &head, std::span<const std::byte> prefix, std::span<const std::byte> payload)
    {
        std::size_t bytes = record_head + (prefix.size() + payload.size() + 7) / 8 * 8;
        std::uint64_t tail = control_->tail.load(std::memory_order_relaxed);
        std::size_t at = place(tail), skip = at + bytes > bytes_ ? bytes_ - at : 0;
        if (tail + skip + bytes - free_ > bytes_) {
            free_ = control_->head.load(std::memory_order_acquire);
            if (tail + skip + bytes - free_ > bytes_) return false;
        }
        if (skip) {
            std::uint64_t mark = 0;
            std::memcpy(data_ + at, &mark, sizeof mark);
            at = 0;
        }
        write(data_ + at, bytes, head, prefix, payload);
        tells_another_process();
        control_->tail.store(tail + skip + bytes, std::memory_order_seq_cst);
        return true;
    }
    std::uint64_t position() const { return control_->tail.load(std::memory_order_relaxed); }
    std::uint64_t executed() const { return control_->executed.load(std::memory_order_acquire); }

    // Consumer: calls use(frame, payload) for up to `limit` records and frees their room, a quarter of the ring at a
    // time, since the producer looks at that cache line; how many there were.
    template <class Use>
    int consume(int limit, Use &&use)
    {
        std::uint64_t head = control_->head.load(std::memory_order_relaxed);
        std::uint64_t tail = control_->tail.load(std::memory_order_acquire);
        std::uint64_t told = head;
        int done = 0;
        while (head != tail && done < limit) {
            const std::byte *at = data_ + place(head);
            std::uint64_t bytes;
            std::memcpy(&bytes, at, sizeof bytes);
            if (bytes == 0) {
                head += bytes_ - place(head);
                continue;
            }
            auto *f = reinterpret_cast<const frame *>(at + 8);
            use(*f, std::span(at + record_head, f->length));
            head += bytes;
            ++done;
            if (head - told >= bytes_ / 4) control_->head.store(told = head, std::memory_order_release);
        }
        if (head != told) control_->head.store(head, std::memory_order_release);
        return done;
    }
    bool empty() const
    {
        return control_->head.load(std::memory_order_relaxed) == control_->tail.load(std::memory_order_seq_cst);
    }
    // Consumer: how far it has come in the stream.
    std::uint64_t consumed() const { return control_->head.load(std::memory_order_relaxed); }
    // Consumer: something consumed has not been published.
    bool unpublished() const { return control_->executed.load(std::memory_order_relaxed) != consumed(); }
    // Consumer: lets the producer know that everything consumed up to there has taken effect; false if it knew.
    bool publish_executed(std::uint64_t until)
    {
        if (control_->executed.load(std::memory_order_relaxed) == until) return false;
        tells_another_process();
        control_->executed.store(until, std::memory_order_seq_cst);
        return true;
    }

  private:
    ring_control *control_;
    std::byte *data_;
    std::size_t bytes_;
    std::uint64_t free_ = 0; // producer: the head, as far as it knows

    std::size_t place(std::uint64_t position) const { return position & (bytes_ - 1); }
    static void write(std::byte *to, std::uint64_t bytes, const frame &head, std::span<const std::byte> prefix,
                      std::span<const std::byte> payload)
    {
        std::memcpy(to, &bytes, sizeof bytes);
        std::memcpy(to + 8, &head, sizeof head);
        if (!prefix.empty()) std::memcpy(to + record_head, prefix.data(), prefix.size());
        if (!payload.empty()) copy_bytes(to + record_head + prefix.size(), payload.data(), payload.size());
    }
};

} // namespace onesea::shm
