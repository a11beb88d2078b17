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

// Where the parts of all members lie in a buffer, in elements of it: how many each has, and where they begin; without
// `starts` the parts follow each other. The buffer holds them all.
struct parts {
    std::span<const std::size_t> counts, starts = {};
};

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
    // The result is root's alone; elsewhere the values stay.
    template <class T, std::size_t N>
    void reduce(int root, std::span<T, N> values, sea_reduce_op op) const
    {
        check(sea_reduce(team_, root, values.data(), values.data(), values.size(), type_of<T>(), op));
    }
    template <class T>
    T reduce(int root, T value, sea_reduce_op op) const
    {
        reduce(root, std::span<T>(&value, 1), op);
        return value;
    }
    // `values` has as many elements for each member as `result` has, which are those of the caller.
    template <class T, std::size_t N>
    void reduce_scatter(std::span<const std::type_identity_t<T>> values, std::span<T, N> result, sea_reduce_op op) const
    {
        require(values.size() == result.size() * members(), "not as many values for each member as results");
        check(sea_reduce_scatter(team_, values.data(), result.data(), result.size(), type_of<T>(), op));
    }

    // Everybody's value, by member.
    template <transferable T>
    std::vector<T> allgather(const T &value) const
    {
        bytes_of<T> all(members());
        check(sea_allgather(team_, &value, all.data(), sizeof(T)));
        return values_of<T>(all);
    }
    // The same at root alone; nothing elsewhere.
    template <transferable T>
    std::vector<T> gather(int root, const T &value) const
    {
        bytes_of<T> all(rank() == root ? members() : 0);
        check(sea_gather(team_, root, &value, all.data(), sizeof(T)));
        return values_of<T>(all);
    }
    // The own one of root's values, of which it has one for each member.
    template <transferable T>
    T scatter(int root, std::span<const T> values = {}) const
    {
        require(rank() != root || values.size() == members(), "not one value for each member");
        std::array<std::byte, sizeof(T)> own;
        check(sea_scatter(team_, root, values.data(), own.data(), sizeof(T)));
        return std::bit_cast<T>(own);
    }
    // A value for each member; gives those that they have for the caller.
    template <class T, std::size_t N>
    auto alltoall(std::span<T, N> values) const requires transferable<std::remove_const_t<T>>
    {
        using value = std::remove_const_t<T>;
        require(values.size() == members(), "not one value for each member");
        bytes_of<value> all(values.size());
        check(sea_alltoall(team_, values.data(), all.data(), sizeof(T)));
        return values_of<value>(all);
    }

    // Parts of different sizes. What only root has may be left out elsewhere.
    template <class T, std::size_t N>
    void gatherv(int root, std::span<T, N> own, std::span<std::remove_const_t<T>> all = {},
                 const parts &of_all = {}) const requires transferable<std::remove_const_t<T>>
    {
        const placed to = rank() == root ? place(of_all, all) : placed();
        check(sea_gatherv(team_, root, own.data(), own.size_bytes(), all.data(), to.bytes.data(), to.offsets.data()));
    }
    template <transferable T, std::size_t N>
    void scatterv(int root, std::span<T, N> own, std::span<const std::type_identity_t<T>> all = {},
                  const parts &of_all = {}) const
    {
        const placed from = rank() == root ? place(of_all, all) : placed();
        check(sea_scatterv(team_, root, all.data(), from.bytes.data(), from.offsets.data(), own.data(),
                           own.size_bytes()));
    }
    template <class T, std::size_t N>
    void allgatherv(std::span<T, N> own, std::span<std::remove_const_t<T>> all,
                    const parts &of_all) const requires transferable<std::remove_const_t<T>>
    {
        const placed to = place(of_all, all);
        require(own.size_bytes() == to.bytes[std::size_t(rank())], "the own part has another size");
        check(sea_allgatherv(team_, own.data(), all.data(), to.bytes.data(), to.offsets.data()));
    }
    template <transferable T, std::size_t N>
    void alltoallv(std::span<const std::type_identity_t<T>> input, const parts &of_input, std::span<T, N> output,
                   const parts &of_output) const
    {
        const placed from = place(of_input, input), to = place(of_output, std::span<T>(output));
        check(sea_alltoallv(team_, input.data(), from.bytes.data(), from.offsets.data(), output.data(), to.bytes.data(),
                            to.offsets.data()));
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
    // The same without the caller; at member 0 the values stay, or it is `first`.
    template <class T, std::size_t N>
    void exscan(std::span<T, N> values, sea_reduce_op op) const
    {
        check(sea_exscan(team_, values.data(), values.data(), values.size(), type_of<T>(), op));
    }
    template <class T>
    T exscan(T value, sea_reduce_op op, std::type_identity_t<T> first) const
    {
        exscan(std::span<T>(&value, 1), op);
        return rank() == 0 ? first : value;
    }

  private:
    // Values of types without a default constructor, too, and of bool.
    template <class T>
    using bytes_of = std::vector<std::array<std::byte, sizeof(T)>>;
    struct placed { // parts as the C functions take them
        std::vector<std::size_t> bytes, offsets;
    };

    sea_team team_ = SEA_TEAM_WORLD;

    std::size_t members() const { return std::size_t(size()); }
    static void require(bool good, const char *text)
    {
        if (!good) throw error(SEA_ERR_INVALID, std::string("SEA_ERR_INVALID: ") + text);
    }
    template <class T>
    static std::vector<T> values_of(const bytes_of<T> &all)
    {
        std::vector<T> values;
        values.reserve(all.size());
        for (const auto &bytes : all) values.push_back(std::bit_cast<T>(bytes));
        return values;
    }
    template <class T>
    placed place(const parts &of, std::span<T> buffer) const
    {
        require(of.counts.size() == members() && (of.starts.empty() || of.starts.size() == members()),
                "not one part for each member");
        placed result;
        for (std::size_t m = 0, next = 0; m < of.counts.size(); ++m) {
            const std::size_t count = of.counts[m], start = of.starts.empty() ? next : of.starts[m];
            require(start <= buffer.size() && count <= buffer.size() - start, "a part is not in its buffer");
            next = start + count;
            result.bytes.push_back(count * sizeof(T));
            result.offsets.push_back(start * sizeof(T));
        }
        return result;
    }
};

inline void barrier() { check(sea_barrier(SEA_TEAM_WORLD)); }

} // namespace sea
