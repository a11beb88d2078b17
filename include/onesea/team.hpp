// SPDX-License-Identifier: Apache-2.0
// Teams and collectives for C++20: a part of onesea.hpp, whose rules hold here, too.
#pragma once

#include <onesea.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace sea {

template <class T>
consteval sea_type type_of()
{
    using number = std::remove_cv_t<T>;
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8 && !std::is_same_v<number, long double> &&
                      !std::is_same_v<number, bool>,
                  "no number of sea_type");
    if (std::is_same_v<number, float>) return SEA_FLOAT;
    if (std::is_same_v<number, double>) return SEA_DOUBLE;
    int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return sea_type(2 * log + (std::is_unsigned_v<T> ? 1 : 0));
}

// A team; the default one is the world, which is never freed.
class team {
  public:
    team() = default;
    explicit team(sea_team t) : team_(t) {}
    team(const std::vector<int> &ranks, int tag)
    {
        check(sea_team_create(ranks.data(), int(ranks.size()), tag, &team_));
    }
    team(team &&other) noexcept : team_(std::exchange(other.team_, SEA_TEAM_NULL)) {}
    team &operator=(team &&other) noexcept
    {
        std::swap(team_, other.team_);
        return *this;
    }
    ~team()
    {
        if (team_ != SEA_TEAM_WORLD && team_ != SEA_TEAM_NULL) sea_team_free(team_);
    }

    sea_team handle() const { return team_; }
    explicit operator bool() const { return team_ != SEA_TEAM_NULL; }
    int rank() const { return check(sea_team_rank(team_)); }
    int size() const { return check(sea_team_size(team_)); }
    int member(int number) const { return check(sea_team_member(team_, number)); }

    team split(int color, int key) const
    {
        sea_team result = SEA_TEAM_NULL;
        check(sea_team_split(team_, color, key, &result));
        return team(result);
    }
    void barrier() const { check(sea_barrier(team_)); }

    template <transferable T, std::size_t N>
    void broadcast(int root, std::span<T, N> buffer) const
    {
        check(sea_broadcast(team_, root, buffer.data(), buffer.size_bytes()));
    }
    template <sendable T>
    T broadcast(int root, T value) const
    {
        broadcast(root, std::span<T>(&value, 1));
        return value;
    }
    // Element by element over all members; the result is everybody's.
    template <class T, std::size_t N>
    void allreduce(std::span<T, N> values, sea_reduce_op op) const
    {
        check(sea_allreduce(team_, values.data(), values.data(), values.size(), type_of<T>(), op));
    }
    template <class T>
    T allreduce(T value, sea_reduce_op op) const
    {
        allreduce(std::span<T>(&value, 1), op);
        return value;
    }
    // Everybody's value, by member.
    template <transferable T>
    std::vector<T> allgather(const T &value) const
    {
        std::vector<std::array<std::byte, sizeof(T)>> parts(static_cast<std::size_t>(size()));
        check(sea_allgather(team_, &value, parts.data(), sizeof(T)));
        std::vector<T> all; // of bool, or of what has no default constructor, too
        all.reserve(parts.size());
        for (const auto &bytes : parts) all.push_back(std::bit_cast<T>(bytes));
        return all;
    }
    // Element by element over the members up to the caller.
    template <class T, std::size_t N>
    void scan(std::span<T, N> values, sea_reduce_op op) const
    {
        check(sea_scan(team_, values.data(), values.data(), values.size(), type_of<T>(), op));
    }
    template <class T>
    T scan(T value, sea_reduce_op op) const
    {
        scan(std::span<T>(&value, 1), op);
        return value;
    }

  private:
    sea_team team_ = SEA_TEAM_WORLD;
};

inline void barrier() { check(sea_barrier(SEA_TEAM_WORLD)); }

} // namespace sea
