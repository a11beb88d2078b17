// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace acp {
namespace {

constexpr std::string_view prefix = "--acp-";
constexpr std::string_view starter = "startermemsize";
constexpr std::string_view without_meaning[] = {"startermemsize-cl", "startermemsize-dl", "envnet", "ethspeed"};

bool known(std::string_view name)
{
    if (name == starter) return true;
    for (std::string_view other : without_meaning)
        if (name == other) return true;
    return false;
}

} // namespace

bool parse_size(const char *text, std::size_t *bytes)
{
    if (*text < '0' || *text > '9') return false;
    char *end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text, &end, 10);
    unsigned shift = 0;
    switch (*end) {
    case 'k':
    case 'K':
        shift = 10;
        break;
    case 'm':
    case 'M':
        shift = 20;
        break;
    case 'g':
    case 'G':
        shift = 30;
        break;
    default:
        break;
    }
    if (shift) ++end;
    if (errno || *end || number == 0 || number > (1ull << 39) >> shift) return false;
    *bytes = std::size_t(number) << shift;
    return true;
}

bool take_options(int *argc, char ***argv, options *found, std::string *problem)
{
    if (!argc || !argv || !*argv) return true;
    options result;
    std::vector<char *> kept;
    for (int i = 0; i < *argc; ++i) {
        char *word = (*argv)[i];
        std::string_view text = word ? word : "";
        if (i == 0 || !text.starts_with(prefix)) {
            kept.push_back(word);
            continue;
        }
        const std::size_t sign = text.find('=');
        const std::string_view name = text.substr(0, sign).substr(prefix.size());
        if (!known(name)) {
            *problem = "there is no option " + std::string(text);
            return false;
        }
        const char *value = sign != text.npos ? word + sign + 1 : i + 1 < *argc ? (*argv)[++i] : nullptr;
        if (!value || !*value || (name == starter && !parse_size(value, &result.starter_bytes))) {
            *problem = std::string(text) + " needs a " + (name == starter ? "number of bytes" : "value");
            return false;
        }
    }
    for (std::size_t i = 0; i < kept.size(); ++i) (*argv)[i] = kept[i];
    if (int(kept.size()) < *argc) (*argv)[kept.size()] = nullptr;
    *argc = int(kept.size());
    *found = result;
    return true;
}

} // namespace acp
