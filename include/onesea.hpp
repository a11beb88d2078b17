// SPDX-License-Identifier: Apache-2.0
// Onesea for C++20: a thin layer on onesea.h. Failures are exceptions that carry the status, things that must be given
// back are objects, addresses know their type. Nothing here keeps state of its own; onesea.h says what each call means,
// and both may be mixed.
//
// Objects that own something (job, allocation, registration, operation, team) can be moved, not copied. Their
// destructors never throw: an error on giving back is lost there. Where it matters call finish(), release() or wait(),
// which throw. A handler catches what it calls: an exception out of it ends the process (onesea.h).
#pragma once

#if __cplusplus < 202002L
#error "onesea.hpp needs C++20 or later: -std=c++20, or target_compile_features(... cxx_std_20) in CMake"
#endif

#include "onesea.h"

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace sea {

// ---- Errors -------------------------------------------------------------------------------------------------------

class error : public std::runtime_error {
  public:
    error(int status, const std::string &text) : std::runtime_error(text), status_(status) {}
    int status() const noexcept { return status_; } // SEA_ERR_...

  private:
    int status_;
};

// Throws unless the status is good; gives it back, for calls whose positive results mean something.
inline int check(int status)
{
    if (status >= 0) return status;
    const char *detail = sea_last_error();
    std::string text = std::string(sea_status_name(status)) + ": " + sea_strerror(status);
    if (*detail) text += std::string(": ") + detail;
    throw error(status, text);
}

// ---- Start, end, who ----------------------------------------------------------------------------------------------

class job {
  public:
    job() { check(sea_init(nullptr)); }
    explicit job(std::size_t heap_bytes)
    {
        sea_config config{sizeof(sea_config), heap_bytes};
        check(sea_init(&config));
    }
    job(const job &) = delete;
    job &operator=(const job &) = delete;
    // Left by an exception, the rank has failed: it does not wait for the others, who may wait for it, and when this
    // process ends the launcher ends the job, whatever the status (or tells the others: `--on-death continue`).
    ~job()
    {
        if (sea_initialized() && std::uncaught_exceptions() == exceptions_) sea_finalize();
    }
    void finish() { check(sea_finalize()); }

  private:
    int exceptions_ = std::uncaught_exceptions();
};

inline int rank() { return check(sea_rank()); }
inline int size() { return check(sea_size()); }
inline int node() { return check(sea_node()); }
inline int nodes() { return check(sea_nodes()); }
inline int node_of(int rank) { return check(sea_node_of(rank)); }
inline bool alive(int rank) { return check(sea_alive(rank)) != 0; }

// Starts one more rank, which runs the program and arguments of this one; see sea_spawn() for other wishes.
inline int spawn(const sea_spawn_opts *opts = nullptr)
{
    int rank = -1;
    check(sea_spawn(opts, &rank));
    return rank;
}
inline int spawner() // -1: the launcher
{
    const int by = sea_spawner();
    return by < -1 ? check(by) : by;
}
inline void fence(int rank) { check(sea_fence(rank)); }
inline void fence() { check(sea_fence_all()); }

// ---- Global pointers ----------------------------------------------------------------------------------------------

template <class T>
concept transferable = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;

// What means the same elsewhere, as a pointer does not, nor most views.
template <class T>
concept sendable = transferable<T> && !std::is_pointer_v<T> && !std::ranges::view<T>;

// What atomics work on.
template <class T>
concept word = transferable<T> && std::is_integral_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

// A place of a T somewhere in the job's memory. Arithmetic as on T*, within one segment.
template <transferable T>
class pointer {
  public:
    constexpr pointer() = default;
    explicit constexpr pointer(sea_addr address) : address_(address) {}

    constexpr sea_addr address() const { return address_; }
    constexpr explicit operator bool() const { return address_ != SEA_NULL; }
    int rank() const { return sea_addr_rank(address_); }
    // Direct access, where this process has it; else nullptr.
    T *local() const { return static_cast<T *>(sea_local(address_)); }

    T get() const
    {
        std::array<std::byte, sizeof(T)> bytes; // T may have no default constructor
        check(sea_get(bytes.data(), address_, sizeof bytes, nullptr));
        return std::bit_cast<T>(bytes);
    }
    // Returns after local completion; fence() makes it visible there.
    void put(const T &value) const { check(sea_put(address_, &value, sizeof value, nullptr)); }

    T fetch_add(T operand) const requires word<T> { return update(SEA_ATOMIC_ADD, operand); }
    T swap(T operand) const requires word<T> { return update(SEA_ATOMIC_SWAP, operand); }
    // Stores `wanted` if the word is `expected`; the value before, either way.
    T compare_swap(T expected, T wanted) const requires word<T> { return update(SEA_ATOMIC_CAS, wanted, expected); }

    constexpr pointer &operator+=(std::ptrdiff_t n)
    {
        address_ += sea_addr(n) * sizeof(T);
        return *this;
    }
    constexpr pointer &operator-=(std::ptrdiff_t n) { return *this += -n; }
    constexpr pointer &operator++() { return *this += 1; }
    constexpr pointer &operator--() { return *this += -1; }
    constexpr pointer operator++(int) { return std::exchange(*this, *this + 1); }
    constexpr pointer operator--(int) { return std::exchange(*this, *this - 1); }
    friend constexpr pointer operator+(pointer p, std::ptrdiff_t n) { return p += n; }
    friend constexpr pointer operator+(std::ptrdiff_t n, pointer p) { return p += n; }
    friend constexpr pointer operator-(pointer p, std::ptrdiff_t n) { return p -= n; }
    friend constexpr std::ptrdiff_t operator-(pointer a, pointer b)
    {
        return std::ptrdiff_t(a.address_ - b.address_) / std::ptrdiff_t(sizeof(T));
    }
    constexpr pointer operator[](std::ptrdiff_t n) const { return *this + n; }
    friend constexpr auto operator<=>(pointer, pointer) = default;

  private:
    sea_addr address_ = SEA_NULL;

    T update(sea_atomic_kind kind, T operand, T compare = 0) const
    {
        using bits = std::make_unsigned_t<T>;
        T old;
        check(sea_atomic(kind, address_, int(sizeof(T)), bits(operand), bits(compare), &old, nullptr));
        return old;
    }
};

// ---- Memory -------------------------------------------------------------------------------------------------------

// Global heap on any rank, freed at the end of its life.
template <transferable T>
class allocation {
  public:
    allocation() = default;
    allocation(int rank, std::size_t count) : count_(count)
    {
        if (count > SIZE_MAX / sizeof(T)) throw error(SEA_ERR_MEMORY, "SEA_ERR_MEMORY: the size does not fit a number");
        sea_addr address = SEA_NULL;
        check(sea_heap_alloc(rank, count * sizeof(T), &address));
        start_ = pointer<T>(address);
    }
    allocation(allocation &&other) noexcept { swap(other); }
    allocation &operator=(allocation &&other) noexcept
    {
        swap(other);
        return *this;
    }
    ~allocation()
    {
        if (start_) sea_heap_free(start_.address());
    }

    pointer<T> data() const { return start_; }
    std::size_t size() const { return count_; }
    pointer<T> operator[](std::size_t i) const { return start_ + std::ptrdiff_t(i); }
    // Frees now.
    void release()
    {
        if (sea_addr address = std::exchange(start_, {}).address()) check(sea_heap_free(address));
        count_ = 0;
    }

  private:
    pointer<T> start_;
    std::size_t count_ = 0;
    void swap(allocation &other) noexcept
    {
        std::swap(start_, other.start_);
        std::swap(count_, other.count_);
    }
};

// Own memory that others may reach, until the end of its life, which waits for what still uses the memory.
template <transferable T>
class registration {
  public:
    registration() = default;
    explicit registration(std::span<T> memory, unsigned flags = 0) : count_(memory.size())
    {
        sea_addr address = SEA_NULL;
        check(sea_register(memory.data(), memory.size_bytes(), flags, &address));
        start_ = pointer<T>(address);
    }
    // What others only read may be constant here.
    static registration of_constants(std::span<const T> memory)
    {
        return registration({const_cast<T *>(memory.data()), memory.size()}, SEA_READ_ONLY);
    }
    registration(registration &&other) noexcept { swap(other); }
    registration &operator=(registration &&other) noexcept
    {
        swap(other);
        return *this;
    }
    ~registration()
    {
        while (start_ && sea_unregister(start_.address()) == SEA_ERR_TIMEOUT) {
        } // the memory may go after this
    }

    pointer<T> data() const { return start_; }
    std::size_t size() const { return count_; }
    void release()
    {
        if (start_) check(sea_unregister(start_.address())); // again, where there was no time to end it
        start_ = {};
        count_ = 0;
    }

  private:
    pointer<T> start_;
    std::size_t count_ = 0;
    void swap(registration &other) noexcept
    {
        std::swap(start_, other.start_);
        std::swap(count_, other.count_);
    }
};

// ---- Transfers ----------------------------------------------------------------------------------------------------

// An operation in flight. Its buffers must outlive it: the destructor waits for it.
class operation {
  public:
    operation() = default;
    explicit operation(sea_op op) : op_(op) {}
    operation(operation &&other) noexcept : op_(std::exchange(other.op_, SEA_OP_NONE)) {}
    operation &operator=(operation &&other) noexcept
    {
        std::swap(op_, other.op_);
        return *this;
    }
    ~operation()
    {
        if (op_ != SEA_OP_NONE) sea_wait(op_, SEA_FOREVER);
    }

    sea_op handle() const { return op_; } // stays this object's
    // Remote completion.
    void wait()
    {
        if (op_ != SEA_OP_NONE) check(sea_wait(std::exchange(op_, SEA_OP_NONE), SEA_FOREVER));
    }
    // The same; false if the time has passed before.
    bool wait(double seconds)
    {
        if (seconds != seconds) check(sea_wait(op_, seconds)); // no time: an error, and the operation goes on
        int status = op_ == SEA_OP_NONE ? SEA_OK : sea_wait(op_, seconds);
        if (status == SEA_ERR_TIMEOUT) return false;
        op_ = SEA_OP_NONE;
        check(status);
        return true;
    }
    bool done() { return wait(0); }

  private:
    sea_op op_ = SEA_OP_NONE;
};

template <transferable T>
void put(pointer<T> target, std::span<const std::type_identity_t<T>> source)
{
    check(sea_put(target.address(), source.data(), source.size_bytes(), nullptr));
}

template <transferable T>
void get(std::span<std::type_identity_t<T>> target, pointer<T> source)
{
    check(sea_get(target.data(), source.address(), target.size_bytes(), nullptr));
}

template <transferable T>
void copy(pointer<T> target, pointer<T> source, std::size_t count)
{
    check(sea_copy(target.address(), source.address(), count * sizeof(T), nullptr));
}

// The same, only started; `after` is a start condition (operation::handle(), SEA_OP_ALL).
template <transferable T>
operation start_put(pointer<T> target, std::span<const std::type_identity_t<T>> source, sea_op after = SEA_OP_NONE)
{
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    opts.after = after;
    check(sea_put(target.address(), source.data(), source.size_bytes(), &opts));
    return operation(op);
}

template <transferable T>
operation start_get(std::span<std::type_identity_t<T>> target, pointer<T> source, sea_op after = SEA_OP_NONE)
{
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    opts.after = after;
    check(sea_get(target.data(), source.address(), target.size_bytes(), &opts));
    return operation(op);
}

// ---- Raw space ----------------------------------------------------------------------------------------------------

// This process's memory is open to the other ranks until the end of its life. A process has one at a time.
class raw_opening {
  public:
    raw_opening() { check(sea_raw_open()); }
    raw_opening(const raw_opening &) = delete;
    raw_opening &operator=(const raw_opening &) = delete;
    ~raw_opening()
    {
        if (open_) sea_raw_close();
    }
    void close()
    {
        if (std::exchange(open_, false)) check(sea_raw_close());
    }

  private:
    bool open_ = true;
};

// `target`, `source`: pointers of that rank's process, never used in this one.
template <transferable T>
void raw_put(int rank, T *target, std::span<const std::type_identity_t<T>> source)
{
    check(sea_raw_put(rank, reinterpret_cast<std::uintptr_t>(target), source.data(), source.size_bytes(), nullptr));
}

template <transferable T>
void raw_get(std::span<std::type_identity_t<T>> target, int rank, const T *source)
{
    check(sea_raw_get(target.data(), rank, reinterpret_cast<std::uintptr_t>(source), target.size_bytes(), nullptr));
}

} // namespace sea

#include "onesea/team.hpp"
