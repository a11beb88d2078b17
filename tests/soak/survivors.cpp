// SPDX-License-Identifier: Apache-2.0
#include "survivors.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

namespace {

constexpr const char *first_word = "survivor";

std::string text(const char *format, auto... values)
{
    char room[200];
    std::snprintf(room, sizeof room, format, values...);
    return room;
}

bool read_line(std::istream &in, survivor *s)
{
    std::size_t dead = 0, living = 0;
    in >> s->rank >> s->node >> dead >> living;
    if (!in || dead + living > 1000) return false;
    s->dead.resize(dead);
    s->living.resize(living);
    for (dead_peer &d : s->dead) in >> d.rank >> d.node >> d.refused >> d.first_refused >> d.last_good;
    for (living_peer &l : s->living) in >> l.rank >> l.good >> l.last_good;
    return bool(in);
}

std::set<int> dead_of(const survivor &s)
{
    std::set<int> ranks;
    for (const dead_peer &d : s.dead) ranks.insert(d.rank);
    return ranks;
}

// Do all say the same of who lives, and is it everybody?
std::string judge_sets(const std::vector<survivor> &all, const killing &k)
{
    const std::set<int> dead = dead_of(all[0]);
    std::set<int> reporting, nodes;
    for (const survivor &s : all) {
        std::set<int> living;
        for (const living_peer &l : s.living) living.insert(l.rank);
        if (!reporting.insert(s.rank).second) return text("rank %d has reported twice", s.rank);
        if (dead_of(s) != dead) return text("ranks %d and %d do not agree on who is dead", all[0].rank, s.rank);
        if (dead.count(s.rank)) return text("rank %d has reported and is dead", s.rank);
        if (int(living.size() + dead.size()) != k.ranks) return text("rank %d does not know all ranks", s.rank);
    }
    for (const dead_peer &d : all[0].dead) nodes.insert(d.node);
    if (int(reporting.size() + dead.size()) != k.ranks) return "not everybody who lives has reported";
    if (!k.agent && (dead.size() != 1 || (k.rank >= 0 && !dead.count(k.rank)))) return "another rank is dead";
    if (!k.agent) return "";
    if (nodes.size() != 1) return "the dead ranks are not of one node";
    for (const survivor &s : all)
        if (nodes.count(s.node)) return text("rank %d lives without its agent", s.rank);
    return "";
}

std::string judge_times(const survivor &s, const killing &k, std::vector<double> *delays)
{
    for (const dead_peer &d : s.dead) {
        if (d.refused == 0) return text("no operation of rank %d on rank %d failed", s.rank, d.rank);
        const double delay = d.first_refused - k.at;
        delays->push_back(delay);
        if (delay > k.limit) return text("rank %d learnt of rank %d's death after %.2f s", s.rank, d.rank, delay);
        if (d.last_good > k.at + k.limit) return text("rank %d could still use rank %d", s.rank, d.rank);
    }
    for (const living_peer &l : s.living)
        if (l.good == 0 || l.last_good < k.at) return text("rank %d did not go on with rank %d", s.rank, l.rank);
    return "";
}

} // namespace

std::string to_line(const survivor &s)
{
    std::string line = text("%s %d %d %zu %zu", first_word, s.rank, s.node, s.dead.size(), s.living.size());
    for (const dead_peer &d : s.dead)
        line += text("  %d %d %llu %.6f %.6f", d.rank, d.node, static_cast<unsigned long long>(d.refused),
                     d.first_refused, d.last_good);
    for (const living_peer &l : s.living)
        line += text("  %d %llu %.6f", l.rank, static_cast<unsigned long long>(l.good), l.last_good);
    return line;
}

std::vector<survivor> survivors_in(const std::string &all)
{
    std::vector<survivor> found;
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word != first_word) continue;
        survivor s;
        found.push_back(read_line(words, &s) ? s : survivor{});
    }
    return found;
}

std::string judge(const std::vector<survivor> &all, const killing &k, std::vector<double> *delays)
{
    for (const survivor &s : all)
        if (s.rank < 0) return "a report cannot be read";
    if (k.nobody) return all.empty() ? "" : "ranks ran that should not have";
    if (all.empty()) return "nobody has reported";
    if (std::string wrong = judge_sets(all, k); !wrong.empty()) return wrong;
    for (const survivor &s : all)
        if (std::string wrong = judge_times(s, k, delays); !wrong.empty()) return wrong;
    return "";
}
