// SPDX-License-Identifier: Apache-2.0
// For the tests of channels: tables of several ranks over queues that a dice empties. Notes between two ranks keep
// their order, all else is chance.
#pragma once

#include "msg/channel_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace onesea::msg::test {

struct world;

struct operation {
    int status = 1; // 1: goes on
    const void *memory = nullptr;
    int ends = 0;
};

struct member final : channel_courier {
    world &all;
    int me;
    channel_table table{*this};
    std::map<std::uint64_t, operation> operations;
    std::map<std::uint64_t, std::function<void()>> dependents; // run inside the end of an operation
    std::uint64_t last = 0;
    std::set<int> cut_off;
    std::size_t longest = 1000; // of what one note carries

    member(world &w, int rank) : all(w), me(rank) {}
    std::size_t room(int) override { return longest; }
    void tell(int rank, channel_note what, std::uint64_t index, std::uint64_t id,
              std::span<const std::byte> payload) override;
    void fetch(int rank, std::uint64_t send, void *to, std::size_t bytes, channel_fetch *f) override;
    void answer(int rank, std::uint64_t send, int status) override;
    void end(std::uint64_t id, int status, const std::string &) override
    {
        operation &op = operations.at(id);
        if (op.status != 1) return;
        op.status = status;
        ++op.ends;
        if (auto next = dependents.extract(id)) next.mapped()();
    }
    bool is_cut_off(int rank) override { return cut_off.contains(rank); }

    std::uint64_t run(sea_channel name, channel_request r)
    {
        start(name, table.add(name, r), r.memory);
        return last;
    }
    void start(sea_channel name, std::uint64_t token, const void *memory)
    {
        operations[++last].memory = memory;
        table.started(name, token, last);
    }
    // A close with another operation as its start condition.
    void close_after(std::uint64_t id, sea_channel name)
    {
        channel_request r;
        r.closes = true;
        dependents[id] = [this, name, token = table.add(name, r)] { start(name, token, nullptr); };
    }
    std::uint64_t send(sea_channel name, std::vector<std::byte> &data)
    {
        channel_request r;
        r.memory = data.data();
        r.bytes = data.size();
        return run(name, r);
    }
    std::uint64_t receive(sea_channel name, std::vector<std::byte> &buffer, sea_received *told)
    {
        channel_request r;
        r.memory = buffer.data();
        r.bytes = buffer.size();
        r.told = told;
        return run(name, r);
    }
    std::uint64_t close(sea_channel name)
    {
        channel_request r;
        r.closes = true;
        return run(name, r);
    }
    int status(std::uint64_t id) const { return operations.at(id).status; }
};

struct world {
    std::deque<member> ranks;
    std::map<std::pair<int, int>, std::deque<std::function<void()>>> lines;
    std::mt19937_64 dice;

    explicit world(int n, std::uint64_t seed = 1) : dice(seed)
    {
        for (int i = 0; i < n; ++i) ranks.emplace_back(*this, i);
    }
    bool step()
    {
        std::vector<std::deque<std::function<void()>> *> busy;
        for (auto &[key, line] : lines)
            if (!line.empty()) busy.push_back(&line);
        if (busy.empty()) return false;
        auto *line = busy[dice() % busy.size()];
        auto next = std::move(line->front());
        line->pop_front();
        next();
        return true;
    }
    void settle()
    {
        while (step()) {
        }
    }
};

inline void member::tell(int rank, channel_note what, std::uint64_t index, std::uint64_t id,
                         std::span<const std::byte> payload)
{
    std::vector<std::byte> copy(payload.begin(), payload.end());
    all.lines[{me, rank}].push_back([this, rank, what, index, id, copy = std::move(copy)] {
        all.ranks[std::size_t(rank)].table.receive(me, std::uint8_t(what), index, id, copy);
    });
}

inline void member::fetch(int rank, std::uint64_t send, void *to, std::size_t bytes, channel_fetch *f)
{
    all.lines[{me, me + 1000}].push_back([this, rank, send, to, bytes, f] { // in its own time
        std::memcpy(to, all.ranks[std::size_t(rank)].operations.at(send).memory, bytes);
        table.fetched(f, SEA_OK);
    });
}

inline void member::answer(int rank, std::uint64_t send, int status)
{
    all.lines[{me, rank}].push_back([this, rank, send, status] { all.ranks[std::size_t(rank)].end(send, status, {}); });
}

inline std::vector<std::byte> message(std::size_t bytes, unsigned seed)
{
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = std::byte(seed * 7 + i * 13);
    return data;
}

struct pair {
    world all;
    member &a, &b;
    sea_channel from, to;

    explicit pair(std::uint64_t seed = 1)
        : all(2, seed), a(all.ranks[0]), b(all.ranks[1]), from(a.table.open(1, true)), to(b.table.open(0, false))
    {
    }
};

} // namespace onesea::msg::test
