// SPDX-License-Identifier: Apache-2.0
// A queue in one block of memory, which grows by doubling. An empty one that was never used, or was released, owns
// nothing: many idle objects may have many of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace onesea {

template <class T>
class ring_queue {
  public:
    ring_queue() = default;
    ring_queue(ring_queue &&other) noexcept { swap(other); }
    ring_queue &operator=(ring_queue &&other) noexcept
    {
        ring_queue(std::move(other)).swap(*this);
        return *this;
    }

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    T &operator[](std::size_t i) { return slots_[(first_ + i) & (capacity_ - 1)]; }
    const T &operator[](std::size_t i) const { return slots_[(first_ + i) & (capacity_ - 1)]; }
    T &front() { return (*this)[0]; }
    const T &front() const { return (*this)[0]; }
    T &back() { return (*this)[size_ - 1]; }
    const T &back() const { return (*this)[size_ - 1]; }

    void push_back(T value)
    {
        if (size_ == capacity_) grow();
        ++size_;
        back() = std::move(value);
    }
    void push_front(T value)
    {
        if (size_ == capacity_) grow();
        first_ = (first_ - 1) & (capacity_ - 1);
        ++size_;
        front() = std::move(value);
    }
    void pop_front()
    {
        front() = T{};
        first_ = (first_ + 1) & (capacity_ - 1);
        --size_;
    }
    void pop_back()
    {
        back() = T{};
        --size_;
    }
    // Takes one out; those behind it move up.
    void erase(std::size_t i)
    {
        if (i == 0) return pop_front();
        for (; i + 1 < size_; ++i) (*this)[i] = std::move((*this)[i + 1]);
        pop_back();
    }
    void clear()
    {
        while (!empty()) pop_front();
    }
    // Gives the memory of an empty queue back.
    void release()
    {
        if (!empty()) return;
        slots_.reset();
        capacity_ = first_ = 0;
    }

  private:
    std::unique_ptr<T[]> slots_;
    std::uint32_t capacity_ = 0, first_ = 0, size_ = 0; // capacity: a power of two, or 0

    void swap(ring_queue &other) noexcept
    {
        std::swap(slots_, other.slots_);
        std::swap(capacity_, other.capacity_);
        std::swap(first_, other.first_);
        std::swap(size_, other.size_);
    }

    [[gnu::cold, gnu::noinline]] void grow()
    {
        const std::uint32_t wider = capacity_ ? 2 * capacity_ : 4;
        auto fresh = std::make_unique<T[]>(wider);
        for (std::uint32_t i = 0; i < size_; ++i) fresh[i] = std::move((*this)[i]);
        slots_ = std::move(fresh);
        capacity_ = wider;
        first_ = 0;
    }
};

} // namespace onesea
