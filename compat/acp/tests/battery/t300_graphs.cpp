// SPDX-License-Identifier: Apache-2.0
// Random graphs of dependent accesses against a model. Each process owns some cells at every process and works on them
// alone, so that what they must contain in the end follows from the order that its start conditions ask for: accesses
// that touch the same cell are ordered by a chain of conditions; all others are free.
#include "battery.hpp"
#include "random.hpp"

#include <algorithm>
#include <atomic>

using namespace battery;

namespace {

constexpr std::size_t small_cells = 40, middle_cells = 3, large_cells = 1,
                      cells = small_cells + middle_cells + large_cells;
constexpr std::size_t middle = 3000, large = 30000,
                      all_bytes = small_cells * 8 + middle_cells * middle + large_cells * large;
constexpr int none = -1;

std::size_t size_of(std::size_t cell)
{
    return cell < small_cells ? 8 : cell < small_cells + middle_cells ? middle : large;
}

std::size_t start_of(std::size_t cell)
{
    std::size_t at = 0;
    for (std::size_t c = 0; c < cell; ++c) at += size_of(c);
    return at;
}

struct made {
    int after = none; // the access that it starts after
    bool all = false; // or all before it
    acp_handle_t handle = 0;
};

struct cell_state {
    std::vector<unsigned char> bytes;
    int writer = none;        // the last one
    std::vector<int> readers; // since then
};

class graph {
  public:
    graph(std::vector<acp_ga_t> areas, std::uint64_t number) : areas_(std::move(areas)), random_(number)
    {
        for (int rank = 0; rank < self.n; ++rank)
            for (std::size_t c = 0; c < cells; ++c)
                model_.push_back({std::vector<unsigned char>(size_of(c)), none, {}});
    }

    void add()
    {
        const int now = int(made_.size());
        made next;
        std::size_t to = 0, from = 0;
        bool atomic = random_.below(3) == 0, found = false;
        for (int tries = 0; tries < 12 && !found; ++tries) {
            next.after =
                now == 0 || random_.below(8) == 0 ? none : now - 1 - int(random_.below(std::size_t(std::min(now, 40))));
            choose(atomic, &to, &from);
            found = may_follow(next.after, to, from, atomic);
        }
        if (!found) next.all = true;
        const acp_handle_t order = next.all ? acp_handle_t(random_.below(4) ? ACP_HANDLE_ALL : ACP_HANDLE_CONT)
                                   : next.after == none ? 0
                                                        : made_[std::size_t(next.after)].handle;
        next.handle = atomic ? update(to, from, order) : copy(to, from, order);
        CHECK(next.handle > 0);
        made_.push_back(next);
        touch(to, from, atomic, now);
        if (random_.below(500) == 0) {
            const auto upto = random_.below(made_.size());
            acp_complete(made_[upto].handle);
            complete_ = std::max(complete_, int(upto));
        }
    }

    void check()
    {
        acp_complete(acp_handle_t(ACP_HANDLE_ALL));
        registered<unsigned char> back(large);
        for (std::size_t i = 0; i < model_.size(); ++i) {
            do_copy(back.at(0), address(i), model_[i].bytes.size());
            if (std::equal(model_[i].bytes.begin(), model_[i].bytes.end(), back.data())) continue;
            failed(__FILE__, __LINE__, "a cell has what the model says");
            std::cerr << "    cell " << i % cells << " at process " << i / cells << ", seed " << seed << std::endl;
        }
    }

  private:
    std::vector<acp_ga_t> areas_;
    random_numbers random_;
    std::vector<cell_state> model_;
    std::vector<made> made_;
    int complete_ = none; // all up to it are complete

    acp_ga_t address(std::size_t cell) const { return areas_[cell / cells] + start_of(cell % cells); }

    // to and from: different cells of one size; the target of an atomic is here.
    void choose(bool atomic, std::size_t *to, std::size_t *from)
    {
        const std::size_t kind = atomic ? 0 : random_.below(60);
        std::size_t first = 0, count = small_cells;
        if (kind == 59) first = small_cells + middle_cells, count = large_cells;
        if (kind >= 54 && kind < 59) first = small_cells, count = middle_cells;
        do {
            const auto n = std::size_t(self.n);
            *to = (atomic ? std::size_t(self.me) : random_.below(n)) * cells + first + random_.below(count);
            *from = random_.below(n) * cells + first + random_.below(count);
        } while (*to == *from && self.n * int(count) > 1);
    }

    bool comes_before(int earlier, int later) const
    {
        if (earlier == none || earlier <= complete_) return true;
        for (int at = later; at != none && at >= earlier; at = made_[std::size_t(at)].after) {
            if (at == earlier) return true;
            if (made_[std::size_t(at)].all) return true; // earlier < at
        }
        return false;
    }

    bool may_follow(int after, std::size_t to, std::size_t from, bool atomic) const
    {
        if (!comes_before(model_[to].writer, after) || !comes_before(model_[from].writer, after)) return false;
        const auto free = [&](const cell_state &c) {
            return std::all_of(c.readers.begin(), c.readers.end(), [&](int r) { return comes_before(r, after); });
        };
        return free(model_[to]) && (!atomic || free(model_[from]));
    }

    void touch(std::size_t to, std::size_t from, bool atomic, int now)
    {
        const auto written = [&](cell_state &c) {
            c.writer = now;
            c.readers.clear();
        };
        if (atomic)
            written(model_[from]);
        else
            model_[from].readers.push_back(now);
        written(model_[to]);
    }

    acp_handle_t copy(std::size_t to, std::size_t from, acp_handle_t order)
    {
        if (to != from) model_[to].bytes = model_[from].bytes;
        return acp_copy(address(to), address(from), model_[to].bytes.size(), order);
    }

    acp_handle_t update(std::size_t to, std::size_t from, acp_handle_t order)
    {
        const std::uint64_t value = random_.next();
        std::uint64_t word;
        std::memcpy(&word, model_[from].bytes.data(), 8);
        const std::vector<unsigned char> before = model_[to].bytes;
        model_[to].bytes = model_[from].bytes;
        acp_handle_t h = 0;
        switch (random_.below(6)) {
        case 0:
            h = acp_add8(address(to), address(from), value, order);
            word += value;
            break;
        case 1:
            h = acp_swap8(address(to), address(from), value, order);
            word = value;
            break;
        case 2:
            h = acp_xor8(address(to), address(from), value, order);
            word ^= value;
            break;
        case 3:
            h = acp_or4(address(to), address(from), std::uint32_t(value), order);
            std::copy(before.begin() + 4, before.end(), model_[to].bytes.begin() + 4); // the old value has 4 bytes
            word |= std::uint32_t(value);
            break;
        case 4: {
            const bool equal = value & 1;
            h = acp_cas8(address(to), address(from), equal ? word : ~word, value, order);
            if (equal) word = value;
            break;
        }
        default:
            h = acp_and8(address(to), address(from), value, order);
            word &= value;
        }
        std::memcpy(model_[from].bytes.data(), &word, 8);
        return h;
    }
};

} // namespace

STEP(random_graphs_give_what_the_model_says)
{
    registered<std::uint64_t> area((all_bytes * std::size_t(self.n) + 7) / 8);
    std::fill_n(area.data(), area.size(), 0);
    std::vector<acp_ga_t> mine = everywhere(area.at(0));
    for (acp_ga_t &ga : mine) ga += all_bytes * std::size_t(self.me);
    graph g(mine, seed * 1000 + std::uint64_t(self.me));
    constexpr int accesses = often(10000);
    for (int i = 0; i < accesses; ++i) g.add();
    g.check();
    acp_sync();
}
