// SPDX-License-Identifier: Apache-2.0
// Any bytes on the control line between launcher and agent: cut into messages whatever the pieces in which they come,
// and read as a job, a table or a rank more, or refused with a reason.
#include "agent/hosts.hpp"
#include "agent/lines.hpp"
#include "agent/message.hpp"
#include "agent/node_job.hpp"

#include <cstdint>
#include <cstdlib>

using namespace onesea::agent;

namespace {

std::vector<message> decode(std::string_view bytes, std::size_t piece, bool *damaged)
{
    decoder d;
    std::vector<message> all;
    while (!bytes.empty()) {
        d.feed(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
        message m;
        auto what = decoder::outcome::incomplete;
        while ((what = d.next(&m)) == decoder::outcome::complete) all.push_back(m);
        if (what != decoder::outcome::damaged) continue;
        if (d.error().empty()) std::abort();
        *damaged = true;
        break;
    }
    return all;
}

template <class Read>
void refuse_or_read(Read read)
{
    try {
        read();
    } catch (const nlohmann::json::exception &) {
    } catch (const request_error &) {
    }
}

void understand(const message &m)
{
    refuse_or_read([&] {
        node_job job = node_job_from(m.head);
        if (to_json(node_job_from(to_json(job))) != to_json(job)) std::abort();
    });
    refuse_or_read([&] {
        joining_rank more = joining_rank_from(m.head);
        if (to_json(joining_rank_from(to_json(more))) != to_json(more)) std::abort();
    });
    refuse_or_read([&] {
        node_program program = node_program_from(m.head.at("program"));
        if (program.argv.empty() || to_json(node_program_from(to_json(program))) != to_json(program)) std::abort();
    });
    refuse_or_read([&] {
        message again = to_message(job_table_from(m));
        if (again.body != m.body) std::abort();
    });
}

// The output of ranks: nothing is lost, whatever the pieces; tags aside, which are empty here.
void merge(std::string_view bytes)
{
    line_merger merger(true);
    std::string sent[2], got;
    for (std::size_t at = 0; at < bytes.size(); at += 7) {
        merger.add(int(at % 2), bytes.substr(at, 7), "");
        sent[at % 2] += bytes.substr(at, 7);
        got += merger.take();
    }
    for (int rank : {0, 1}) merger.finish(rank, "");
    got += merger.take();
    const std::size_t least = sent[0].size() + sent[1].size();
    if (got.size() < least || got.size() > least + 2) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::string_view bytes(reinterpret_cast<const char *>(data), size);
    bool damaged = false, damaged_too = false;
    auto whole = decode(bytes, size, &damaged), pieces = decode(bytes, 3, &damaged_too);
    if (whole.size() != pieces.size()) std::abort();
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole[i].head != pieces[i].head || whole[i].body != pieces[i].body) std::abort();
        understand(whole[i]);
        std::string again = encode(whole[i].head, whole[i].body);
        bool bad = false;
        if (decode(again, again.size(), &bad).size() != 1 || bad) std::abort();
    }
    merge(bytes);
    return 0;
}
