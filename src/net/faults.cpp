// SPDX-License-Identifier: Apache-2.0
#include "net/faults.hpp"

#include "base/error.hpp"
#include "net/constants.hpp"

#include <charconv>
#include <cstring>

namespace onesea::net {

fault_injector::kept fault_injector::copy(std::span<const std::byte> bytes, const endpoint &from)
{
    kept k{std::vector<std::uint64_t>(bytes.size() / 8 + 1), bytes.size(), from};
    std::memcpy(k.bytes.data(), bytes.data(), bytes.size());
    return k;
}

void fault_injector::pass(std::span<std::byte> bytes, const endpoint &from, const deliver_fn &deliver)
{
    if (rates_.longest && bytes.size() > rates_.longest) return;
    if (happens(rates_.loss)) return;
    if (happens(rates_.corrupt) && !bytes.empty()) bytes[random_() % bytes.size()] ^= std::byte(1 << random_() % 8);
    if (happens(rates_.reorder)) {
        held_.push_back(copy(bytes, from));
        return;
    }
    if (happens(rates_.dup)) { // decrypting changes the bytes, so the copy goes first
        kept twin = copy(bytes, from);
        deliver({reinterpret_cast<std::byte *>(twin.bytes.data()), twin.size}, from);
    }
    deliver(bytes, from);
    release(deliver);
}

bool fault_injector::release(const deliver_fn &deliver)
{
    auto late = std::move(held_);
    held_.clear();
    for (kept &k : late) deliver({reinterpret_cast<std::byte *>(k.bytes.data()), k.size}, k.from);
    return !late.empty();
}

namespace {

double *rate_named(fault_rates &r, std::string_view name)
{
    if (name == "loss") return &r.loss;
    if (name == "dup") return &r.dup;
    if (name == "reorder") return &r.reorder;
    if (name == "corrupt") return &r.corrupt;
    return nullptr;
}

int refuse(std::string_view item, std::string_view why)
{
    return fail(SEA_ERR_INVALID,
                "{}: '{}' {}; use loss=R,dup=R,reorder=R,corrupt=R,longest=B,seed=N,give_up=S with R from 0 to 1, B "
                "bytes from {} and S seconds from 1",
                faults_variable, item, why, short_datagram);
}

bool whole_number(std::string_view text, std::uint64_t *number)
{
    const char *end = text.data() + text.size();
    auto r = std::from_chars(text.data(), end, *number);
    return r.ec == std::errc() && r.ptr == end;
}

int parse_one(std::string_view item, fault_rates *rates)
{
    auto equals = item.find('=');
    if (equals == std::string_view::npos) return refuse(item, "has no value");
    std::string_view name = item.substr(0, equals), value = item.substr(equals + 1);
    const char *end = value.data() + value.size();
    if (name == "seed") return whole_number(value, &rates->seed) ? SEA_OK : refuse(item, "is no whole number");
    if (name == "longest") {
        const bool good = whole_number(value, &rates->longest) && rates->longest >= short_datagram;
        return good ? SEA_OK : refuse(item, "is no length that a link can do with");
    }
    if (name == "give_up") {
        std::uint64_t seconds = 0;
        if (!whole_number(value, &seconds) || seconds < 1 || seconds > 1'000'000) return refuse(item, "is no time");
        rates->give_up = seconds * second;
        return SEA_OK;
    }
    double *rate = rate_named(*rates, name);
    if (!rate) return refuse(item, "is not known");
    auto r = std::from_chars(value.data(), end, *rate);
    bool good = r.ec == std::errc() && r.ptr == end && *rate >= 0 && *rate <= 1;
    return good ? SEA_OK : refuse(item, "is no rate");
}

} // namespace

int parse_faults(std::string_view text, fault_rates *result)
{
    fault_rates rates;
    while (!text.empty()) {
        auto comma = text.find(',');
        if (int s = parse_one(text.substr(0, comma), &rates)) return s;
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    *result = rates;
    return SEA_OK;
}

} // namespace onesea::net
