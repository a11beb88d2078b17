// SPDX-License-Identifier: Apache-2.0
// Any text for the small parsers: what comes from the environment, the command line, host files, and from ranks.
// Input: a byte that chooses the parser, then the text.
#include "agent/address.hpp"
#include "agent/hosts.hpp"
#include "base/birth.hpp"
#include "base/error.hpp"
#include "base/spawn_wish.hpp"
#include "net/net_transport.hpp"
#include "net/udp_socket.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

using namespace onesea;

namespace {

void birth_variable_text(const std::string &text)
{
    auto b = parse_birth(text.c_str());
    if (!b) return;
    auto again = parse_birth(format(*b).c_str());
    if (!again || again->rank != b->rank || again->slot != b->slot || again->lifeline_fd != b->lifeline_fd)
        std::abort();
}

void wish_text(const std::string &text)
{
    if (auto wish = spawn_wish_from(text); wish && encode(*wish) != text) std::abort();
    if (auto answer = spawn_answer_from(text); answer && encode(*answer) != text) std::abort();
}

void fault_text(const std::string &text)
{
    net::fault_rates rates;
    int status = net::parse_faults(text, &rates);
    if (status != SEA_OK && (status != SEA_ERR_INVALID || !*last_error())) std::abort();
    for (double r : {rates.loss, rates.dup, rates.reorder, rates.corrupt})
        if (!(r >= 0 && r <= 1)) std::abort();
}

void address_text(const std::string &text)
{
    net::ip_address a, again;
    if (!net::parse_ip(text, &a)) return;
    if (!net::parse_ip(net::to_string(a), &again) || std::memcmp(a.bytes, again.bytes, sizeof a.bytes) != 0)
        std::abort();
}

template <class Parse>
void host_text(Parse parse)
{
    try {
        for (const agent::host_slots &h : parse())
            if (h.name.empty() || h.name.front() == '-') std::abort(); // ssh would take it for an option
    } catch (const agent::request_error &e) {
        if (!*e.what()) std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0) return 0;
    std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
    switch (data[0] == 'w' ? 6 : data[0] % 6) {
    case 0:
        birth_variable_text(text);
        break;
    case 1:
        fault_text(text);
        break;
    case 2:
        address_text(text);
        break;
    case 3:
        host_text([&] { return agent::parse_host_list(text); });
        break;
    case 4:
        host_text([&] { return agent::parse_hostfile(text, "hosts"); });
        break;
    case 6:
        wish_text(text);
        break;
    default:
        agent::parse_ssh_connection(text.c_str());
    }
    return 0;
}
