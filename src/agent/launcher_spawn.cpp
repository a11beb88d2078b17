// SPDX-License-Identifier: Apache-2.0
// Ranks that come while the job runs (sea_spawn): one after the other, so that every node sees their numbers go up by
// one. The node's agent first finds the program and opens what the rank needs; then all agents put it in their tables,
// and only when all have done so does its process start and is who asked told: from then on every rank can name it. A
// rank that all know, but whose process could not be started, has died.
#include "agent/launcher_state.hpp"

#include "onesea.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <unordered_set>
#include <utility>

namespace onesea::agent {
namespace {

variables split_settings(const std::vector<std::string> &settings)
{
    variables list;
    for (const std::string &s : settings) {
        const std::size_t equals = std::min(s.find('='), s.size());
        list.emplace_back(s.substr(0, equals), s.substr(std::min(equals + 1, s.size())));
    }
    return list;
}

// In a chain of ranks of which each starts the next one the same variables come again and again.
void inherit_environment(const variables &own, variables *set)
{
    std::unordered_set<std::string> names;
    for (const auto &[name, value] : *set) names.insert(name);
    variables all;
    for (const auto &variable : own)
        if (!names.contains(variable.first)) all.push_back(variable);
    set->insert(set->begin(), all.begin(), all.end());
}

// What the wish leaves open is as for the ranks that started with the job.
void inherit(const program &own, program *what)
{
    if (what->argv.empty()) what->argv = own.argv;
    inherit_environment(own.environment, &what->environment);
    const bool relative = what->directory.empty() || what->directory.front() != '/';
    if (relative && !own.directory.empty()) what->directory = std::filesystem::path(own.directory) / what->directory;
}

} // namespace

unsigned launcher::living_on(unsigned node) const
{
    const auto &ranks = placed_.nodes[node].ranks;
    return unsigned(std::count_if(ranks.begin(), ranks.end(), [this](unsigned r) { return !gone_[r]; }));
}

void launcher::take_spawn(unsigned node, const message &m)
{
    wished_rank wish;
    m.head.at("rank").get_to(wish.asker);
    m.head.at("id").get_to(wish.id);
    m.head.at("node").get_to(wish.node);
    wish.what.argv = all_bytes_of(m.head.at("argv"));
    wish.what.environment = split_settings(all_bytes_of(m.head.at("environment")));
    wish.what.directory = bytes_of(m.head.at("directory"));
    if (wish.asker >= placed_.ranks.size() || placed_.ranks[wish.asker].node != node || gone_[wish.asker]) return;
    inherit(programs_[placed_.ranks[wish.asker].program], &wish.what); // it may end before its turn comes
    wishes_.push_back(std::move(wish));
}

// SEA_OK, or the status of sea_spawn() and the words for it.
int launcher::choose_node(const wished_rank &wish, unsigned *node, std::string *why) const
{
    auto there = [&](unsigned n) { return !nodes_[n]->ended && !nodes_[n]->failed; };
    auto room = [&](unsigned n) { return placed_.nodes[n].ranks.size() < most_on_[n]; };
    const unsigned nodes = unsigned(nodes_.size());
    if (wish.node >= int(nodes)) {
        *why = fmt::format("there is no node {}; the job has {}", wish.node, nodes);
        return SEA_ERR_INVALID;
    }
    if (wish.node >= 0 && !there(unsigned(wish.node))) {
        *why = fmt::format("the agent of node {} has ended", wish.node);
        return SEA_ERR_DEAD;
    }
    std::optional<unsigned> best;
    for (unsigned n = 0; n < nodes; ++n) {
        if ((wish.node >= 0 && unsigned(wish.node) != n) || !there(n) || !room(n)) continue;
        if (!best || living_on(n) < living_on(*best)) best = n;
    }
    if (best && placed_.ranks.size() < most_rank_numbers) {
        *node = *best;
        return SEA_OK;
    }
    *why = no_room(wish.node);
    return SEA_ERR_MEMORY;
}

// On that node, -1: on any.
std::string launcher::no_room(int node) const
{
    auto [least, most] = std::minmax_element(most_to_come_.begin(), most_to_come_.end());
    if (node >= 0) least = most = most_to_come_.begin() + node;
    return fmt::format(
        "{} has room for another rank: `onesea run --spawn N` makes room for N on each, here it was {}{}",
        node < 0 ? "no node" : fmt::format("node {} no longer", node),
        *least == *most ? fmt::format("{}", *most) : fmt::format("{} to {}", *least, *most),
        *least < request_.spare ? fmt::format(", for a node has at most {} ranks", shm::max_slots) : "");
}

void launcher::spawn_next()
{
    while (!joining_ && !wishes_.empty()) {
        joining_.emplace();
        joining_->wish = std::move(wishes_.front());
        wishes_.pop_front();
        std::string why;
        if (stopping()) {
            end_spawn(SEA_ERR_STATE, "the job is ending");
            continue;
        }
        if (int status = choose_node(joining_->wish, &joining_->node, &why)) {
            end_spawn(status, why);
            continue;
        }
        nodes_[joining_->node]->send(
            {{"type", "prepare"},
             {"rank", placed_.ranks.size()},
             {"spawned_by", joining_->wish.asker},
             {"program", to_json(program_for(placed_.nodes[joining_->node], joining_->wish.what))}});
    }
}

void launcher::take_prepared(unsigned node, const message &m)
{
    if (!joining_ || joining_->at != joining::phase::preparing || joining_->node != node) return;
    if (m.type() == "unprepared") return end_spawn(SEA_ERR_SYSTEM, text_for_people(m));
    if (stopping()) return end_spawn(SEA_ERR_STATE, "the job is ending");
    const unsigned rank = unsigned(placed_.ranks.size());
    placed_node &place = placed_.nodes[node];
    placed_.ranks.push_back({node, unsigned(place.ranks.size()), unsigned(programs_.size())});
    programs_.push_back(joining_->wish.what);
    place.ranks.push_back(rank);
    gone_.push_back(false);
    output_.add_rank();
    joining_->at = joining::phase::placing;
    const nlohmann::json fields = to_json(joining_rank{rank, node, m.head.at("port").get<unsigned>()});
    for (unsigned n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n]->ended) continue;
        nlohmann::json head = fields;
        head["type"] = "joins";
        nodes_[n]->send(head);
        joining_->unplaced.insert(n);
    }
}

void launcher::take_placed(unsigned node, const message &m)
{
    if (!joining_ || joining_->at != joining::phase::placing || m.head.at("rank") != placed_.ranks.size() - 1) return;
    joining_->unplaced.erase(node);
    begin_when_placed();
}

void launcher::begin_when_placed()
{
    if (!joining_->unplaced.empty()) return;
    if (stopping()) {
        never_started();
        return end_spawn(SEA_ERR_STATE, "the job is ending");
    }
    joining_->at = joining::phase::starting;
    nodes_[joining_->node]->send({{"type", "begin"}, {"rank", placed_.ranks.size() - 1}});
}

void launcher::take_begun(unsigned node, const message &m)
{
    if (!joining_ || joining_->at != joining::phase::starting || joining_->node != node) return;
    if (m.type() == "begun") return end_spawn(SEA_OK, "");
    never_started();
    end_spawn(SEA_ERR_SYSTEM, text_for_people(m));
}

void launcher::end_placing()
{
    if (!stopping() || !joining_ || joining_->at != joining::phase::placing) return;
    never_started();
    end_spawn(SEA_ERR_STATE, "the job is ending");
}

// All nodes have it in their tables: there it is dead now, as after a program that a shell could not start.
void launcher::never_started()
{
    const unsigned rank = unsigned(placed_.ranks.size()) - 1;
    if (!gone_[rank]) rank_gone(rank, shm::rank_state::dead, 126);
}

void launcher::node_lost_to_spawn(unsigned node)
{
    if (!joining_) return;
    if (joining_->node == node) // a rank that was placed there has died with the others of the node
        return end_spawn(SEA_ERR_DEAD, fmt::format("the agent of node {} has ended", node));
    joining_->unplaced.erase(node);
    if (joining_->at == joining::phase::placing) begin_when_placed();
}

void launcher::answer(const wished_rank &wish, int status, int rank, const std::string &text)
{
    const placed_rank &asker = placed_.ranks[wish.asker];
    nodes_[asker.node]->send({{"type", "spawned"},
                              {"slot", asker.slot},
                              {"id", wish.id},
                              {"status", status},
                              {"rank", rank},
                              {"text", text}});
}

void launcher::end_spawn(int status, const std::string &text)
{
    const wished_rank wish = std::move(joining_->wish);
    joining_.reset();
    answer(wish, status, status == SEA_OK ? int(placed_.ranks.size()) - 1 : -1, text);
    maybe_over_ = true;
}

} // namespace onesea::agent
