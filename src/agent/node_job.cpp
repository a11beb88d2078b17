// SPDX-License-Identifier: Apache-2.0
#include "agent/node_job.hpp"

#include "agent/hosts.hpp"
#include "agent/profile_file.hpp"

#include <fmt/format.h>

namespace onesea::agent {
namespace {

nlohmann::json programs_to_json(const node_job &job)
{
    nlohmann::json list = nlohmann::json::array();
    for (const node_program &p : job.programs) list.push_back(to_json(p));
    return list;
}

nlohmann::json ranks_to_json(const node_job &job)
{
    nlohmann::json list = nlohmann::json::array();
    for (const node_rank &r : job.ranks) list.push_back({r.rank, r.program, r.has_input});
    return list;
}

void check(const node_job &job)
{
    bool good =
        !job.ranks.empty() && job.ranks.size() <= shm::max_slots && job.node < job.nodes && job.ranks_on_machine > 0;
    for (const node_rank &r : job.ranks) good = good && r.rank < job.total_ranks && r.program < job.programs.size();
    for (std::size_t i = 0; i < job.ranks.size(); ++i) good = good && job.ranks[i].rank == job.ranks[0].rank + i;
    if (!good) throw request_error("the launcher's description of the job makes no sense");
}

} // namespace

nlohmann::json to_json(const node_program &p)
{
    variables environment;
    for (const auto &[name, value] : p.environment) environment.emplace_back(text_of(name), text_of(value));
    return {{"argv", texts_of(p.argv)},
            {"environment", environment},
            {"directory", text_of(p.directory)},
            {"directory_required", p.directory_required}};
}

node_program node_program_from(const nlohmann::json &j)
{
    node_program p{all_bytes_of(j.at("argv")), {}, bytes_of(j.at("directory")), j.at("directory_required").get<bool>()};
    for (const auto &v : j.at("environment")) p.environment.emplace_back(bytes_of(v.at(0)), bytes_of(v.at(1)));
    if (p.argv.empty()) throw request_error("the launcher sent a program without a name");
    return p;
}

nlohmann::json to_json(const joining_rank &more)
{
    return {{"rank", more.rank}, {"node", more.node}, {"port", more.port}};
}

joining_rank joining_rank_from(const nlohmann::json &j)
{
    joining_rank more;
    j.at("rank").get_to(more.rank);
    j.at("node").get_to(more.node);
    j.at("port").get_to(more.port);
    return more;
}

nlohmann::json to_json(const node_job &job)
{
    return {{"type", "job"},
            {"node", job.node},
            {"nodes", job.nodes},
            {"total_ranks", job.total_ranks},
            {"ranks_on_machine", job.ranks_on_machine},
            {"first_on_machine", job.first_on_machine},
            {"spare", job.spare},
            {"ranks", ranks_to_json(job)},
            {"programs", programs_to_json(job)},
            {"key", job.key},
            {"job_id", job.job_id},
            {"secure", int(job.secure)},
            {"transport", int(job.transport)},
            {"heap_bytes", job.heap_bytes},
            {"stats", job.stats},
            {"bind", int(job.bind)},
            {"tuning", nlohmann::json(to_json(job.tuning))},
            {"interface", job.interface},
            {"address", job.address}};
}

node_job node_job_from(const nlohmann::json &j)
{
    node_job job;
    j.at("node").get_to(job.node);
    j.at("nodes").get_to(job.nodes);
    j.at("total_ranks").get_to(job.total_ranks);
    j.at("ranks_on_machine").get_to(job.ranks_on_machine);
    j.at("first_on_machine").get_to(job.first_on_machine);
    j.at("spare").get_to(job.spare);
    for (const auto &r : j.at("ranks"))
        job.ranks.push_back({r.at(0).get<unsigned>(), r.at(1).get<unsigned>(), r.at(2).get<bool>()});
    for (const auto &p : j.at("programs")) job.programs.push_back(node_program_from(p));
    j.at("key").get_to(job.key);
    j.at("job_id").get_to(job.job_id);
    job.secure = shm::secure_mode(j.at("secure").get<std::uint32_t>());
    job.transport = shm::transport_choice(j.at("transport").get<std::uint32_t>());
    j.at("heap_bytes").get_to(job.heap_bytes);
    j.at("stats").get_to(job.stats);
    job.bind = bind_mode(j.at("bind").get<int>());
    job.tuning = profile_from(j.at("tuning"));
    j.at("interface").get_to(job.interface);
    j.at("address").get_to(job.address);
    check(job);
    return job;
}

message to_message(const job_table &table)
{
    message m;
    nlohmann::json nodes = nlohmann::json::array();
    for (const auto &n : table.nodes)
        nodes.push_back({n.address, n.mtu, n.ranks, n.ranks_on_machine, n.first_on_machine});
    m.head = {{"type", "table"}, {"nodes", std::move(nodes)}};
    m.body.reserve(2 * table.ports.size());
    for (unsigned port : table.ports) {
        m.body += char(port & 0xff);
        m.body += char(port >> 8);
    }
    return m;
}

job_table job_table_from(const message &m)
{
    job_table table;
    std::uint64_t ranks = 0;
    for (const auto &n : m.head.at("nodes")) {
        table.nodes.push_back({n.at(0).get<std::string>(), n.at(1).get<unsigned>(), n.at(2).get<unsigned>(),
                               n.at(3).get<unsigned>(), n.at(4).get<unsigned>()});
        ranks += table.nodes.back().ranks;
        if (table.nodes.back().ranks_on_machine == 0)
            throw request_error("the launcher's table has a machine without ranks");
    }
    if (m.body.size() != 2 * ranks) throw request_error("the launcher's table of ranks makes no sense");
    table.ports.reserve(ranks);
    for (std::size_t i = 0; i < m.body.size(); i += 2)
        table.ports.push_back(std::uint16_t(std::uint8_t(m.body[i]) | std::uint8_t(m.body[i + 1]) << 8));
    return table;
}

std::string to_hex(const std::uint8_t *bytes, std::size_t n)
{
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
}

bool from_hex(const std::string &text, std::uint8_t *bytes, std::size_t n)
{
    if (text.size() != 2 * n || text.find_first_not_of("0123456789abcdef") != text.npos) return false;
    auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (std::size_t i = 0; i < n; ++i) bytes[i] = std::uint8_t(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    return true;
}

} // namespace onesea::agent
