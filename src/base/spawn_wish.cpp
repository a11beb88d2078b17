// SPDX-License-Identifier: Apache-2.0
#include "base/spawn_wish.hpp"

#include <cstring>

namespace onesea {
namespace {

constexpr std::uint32_t magic = 0x57505331; // "1SPW"

void put_number(std::string &to, std::uint32_t n) { to.append(reinterpret_cast<const char *>(&n), sizeof n); }

void put_text(std::string &to, const std::string &text) { to.append(text.c_str(), text.size() + 1); }

bool take_number(std::string_view &from, std::uint32_t *n)
{
    if (from.size() < sizeof *n) return false;
    std::memcpy(n, from.data(), sizeof *n);
    from.remove_prefix(sizeof *n);
    return true;
}

bool take_signed(std::string_view &from, int *n)
{
    std::uint32_t bits = 0;
    if (!take_number(from, &bits)) return false;
    *n = int(bits);
    return true;
}

bool take_text(std::string_view &from, std::string *text)
{
    const std::size_t end = from.find('\0');
    if (end == from.npos) return false;
    *text = from.substr(0, end);
    from.remove_prefix(end + 1);
    return true;
}

bool take_texts(std::string_view &from, std::uint32_t n, std::vector<std::string> *texts)
{
    if (n > from.size()) return false; // each has a byte at least
    for (texts->resize(n); auto &text : *texts)
        if (!take_text(from, &text)) return false;
    return true;
}

bool is_setting(const std::string &text)
{
    const std::size_t equals = text.find('=');
    return equals != text.npos && equals > 0;
}

} // namespace

std::string encode(const spawn_wish &wish)
{
    std::string bytes;
    put_number(bytes, magic);
    put_number(bytes, wish.id);
    put_number(bytes, std::uint32_t(wish.node));
    put_number(bytes, std::uint32_t(wish.arguments.size()));
    put_number(bytes, std::uint32_t(wish.environment.size()));
    put_text(bytes, wish.directory);
    for (const auto *list : {&wish.arguments, &wish.environment})
        for (const std::string &text : *list) put_text(bytes, text);
    return bytes;
}

std::string encode(const spawn_answer &answer)
{
    std::string bytes;
    put_number(bytes, answer.id);
    put_number(bytes, std::uint32_t(answer.status));
    put_number(bytes, std::uint32_t(answer.rank));
    return bytes + answer.text;
}

std::optional<spawn_wish> spawn_wish_from(std::string_view bytes)
{
    spawn_wish wish;
    std::uint32_t word = 0, arguments = 0, variables = 0;
    bool good = take_number(bytes, &word) && word == magic && take_number(bytes, &wish.id) &&
                take_signed(bytes, &wish.node) && take_number(bytes, &arguments) && take_number(bytes, &variables) &&
                take_text(bytes, &wish.directory) && take_texts(bytes, arguments, &wish.arguments) &&
                take_texts(bytes, variables, &wish.environment) && bytes.empty();
    if (!good || wish.node < -1 || (arguments > 0 && wish.arguments[0].empty())) return std::nullopt;
    for (const std::string &setting : wish.environment)
        if (!is_setting(setting)) return std::nullopt;
    return wish;
}

std::optional<spawn_answer> spawn_answer_from(std::string_view bytes)
{
    spawn_answer answer;
    if (!take_number(bytes, &answer.id) || !take_signed(bytes, &answer.status) || !take_signed(bytes, &answer.rank))
        return std::nullopt;
    answer.text = bytes;
    return answer;
}

} // namespace onesea
