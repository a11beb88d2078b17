// SPDX-License-Identifier: Apache-2.0
// The magic word is looked at as soon as its first byte is there: text that a login shell prints before the agent
// starts is the usual reason for a stream that is none, and is shown to the user.
#include "agent/message.hpp"

#include "agent/printable.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace onesea::agent {
namespace {

constexpr std::string_view magic = "SEA1";
constexpr std::size_t prefix_bytes = 12;
constexpr std::uint32_t most_head = 64u << 20; // a table of a million ranks
constexpr std::uint32_t most_body = 16u << 20;
constexpr std::size_t shown_bytes = 80;
constexpr int most_depth = 16; // of values in values; each level that is begun costs memory, and a byte begins one

void put_u32(std::string &to, std::size_t n)
{
    for (int shift = 0; shift < 32; shift += 8) to += char(n >> shift & 0xff);
}

std::uint32_t get_u32(std::string_view from)
{
    std::uint32_t n = 0;
    for (int i = 3; i >= 0; --i) n = n << 8 | static_cast<unsigned char>(from[std::size_t(i)]);
    return n;
}

struct too_deep {};

// Numbers that are too large for an integer are read as fractions, and no fraction fits where numbers go.
nlohmann::json parse(std::string_view text, bool *integers)
{
    auto look = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json &value) {
        if (depth > most_depth) throw too_deep();
        *integers &= !value.is_number_float();
        return true;
    };
    return nlohmann::json::parse(text, look, false);
}

} // namespace

std::string encode(const nlohmann::json &head, std::string_view body)
{
    // Text for people need not be UTF-8, if it names what the system or a user named; such bytes are replaced.
    std::string text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string out;
    out.reserve(prefix_bytes + text.size() + body.size());
    out += magic;
    put_u32(out, text.size());
    put_u32(out, body.size());
    out += text;
    out += body;
    return out;
}

std::string text_for_people(const message &m) { return printable(m.head.at("text").get_ref<const std::string &>()); }

std::string text_of(std::string_view bytes)
{
    std::string text;
    for (unsigned char c : bytes)
        if (c < 0x80)
            text += char(c);
        else
            (text += char(0xc0 | c >> 6)) += char(0x80 | (c & 0x3f));
    return text;
}

std::vector<std::string> texts_of(const std::vector<std::string> &all)
{
    std::vector<std::string> texts;
    for (const std::string &bytes : all) texts.push_back(text_of(bytes));
    return texts;
}

std::string bytes_of(const nlohmann::json &given)
{
    const auto &text = given.get_ref<const std::string &>();
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c < 0x80) {
            bytes += char(c);
        } else if ((c & 0xfc) == 0xc0 && i + 1 < text.size()) {
            bytes += char(c << 6 | (text[++i] & 0x3f));
        } else {
            throw nlohmann::json::type_error::create(302, "a string of bytes has other characters", &given);
        }
    }
    return bytes;
}

std::vector<std::string> all_bytes_of(const nlohmann::json &texts)
{
    std::vector<std::string> all;
    for (const auto &text : texts.get_ref<const nlohmann::json::array_t &>()) all.push_back(bytes_of(text));
    return all;
}

void decoder::feed(std::string_view bytes)
{
    if (start_ && start_ * 2 >= buffer_.size()) {
        buffer_.erase(0, start_);
        start_ = 0;
    }
    buffer_ += bytes;
}

decoder::outcome decoder::damaged(std::string text)
{
    error_ = std::move(text);
    return outcome::damaged;
}

decoder::outcome decoder::next(message *result)
{
    if (!error_.empty()) return outcome::damaged;
    std::string_view rest = std::string_view(buffer_).substr(start_);
    std::string_view mark = rest.substr(0, magic.size());
    if (mark != magic.substr(0, mark.size()))
        return damaged(
            fmt::format("unexpected text '{}'; does a start-up file of the login shell there write to stdout?",
                        printable(rest, shown_bytes)));
    if (rest.size() < prefix_bytes) return outcome::incomplete;
    std::uint32_t head = get_u32(rest.substr(4)), body = get_u32(rest.substr(8));
    if (head > most_head || body > most_body)
        return damaged(fmt::format("a message of {} and {} bytes is too long", head, body));
    if (rest.size() < prefix_bytes + std::size_t(head) + body) return outcome::incomplete;
    const std::string_view text = rest.substr(prefix_bytes, head);
    const auto refused = [&](std::string_view why) {
        return damaged(fmt::format("a message {}: '{}'", why, printable(text, shown_bytes)));
    };
    bool integers = true;
    nlohmann::json parsed;
    try {
        parsed = parse(text, &integers);
    } catch (const too_deep &) {
        return refused("that is nested too deeply");
    }
    if (!integers) return refused("with a number that is no integer, or is too large");
    if (!parsed.is_object() || !parsed.contains("type") || !parsed["type"].is_string())
        return refused("without a type");
    result->head = std::move(parsed);
    result->body = rest.substr(prefix_bytes + head, body);
    start_ += prefix_bytes + std::size_t(head) + body;
    return outcome::complete;
}

} // namespace onesea::agent
