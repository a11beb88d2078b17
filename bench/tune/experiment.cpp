// SPDX-License-Identifier: Apache-2.0
#include "tune/experiment.hpp"

#include <algorithm>

namespace bench {
namespace {

using onesea::parameter;
using onesea::path_kind;
using numbers = std::vector<std::uint32_t>;

// Of a puts' stream nothing goes through the rings of a node; data of active messages does.
const char *bulk_of(path_kind kind) { return kind == path_kind::shm ? "am" : "put"; }

std::vector<tune_case> cases_of(const std::string &name, const std::vector<std::size_t> &sizes)
{
    std::vector<tune_case> all;
    for (std::size_t n : sizes) all.push_back({name, n});
    return all;
}

numbers window_values(path_kind kind, bool quick)
{
    if (kind == path_kind::shm)
        return quick ? numbers{32u << 10, 128u << 10}
                     : numbers{16u << 10, 32u << 10, 64u << 10, 128u << 10, 256u << 10, 512u << 10, 1u << 20};
    return quick ? numbers{256u << 10, 2u << 20}
                 : numbers{64u << 10, 128u << 10, 256u << 10, 512u << 10, 1u << 20, 2u << 20, 4u << 20};
}

numbers fragment_values(path_kind kind, bool quick)
{
    if (kind == path_kind::shm)
        return quick ? numbers{1280, 4064} : numbers{1280, 2016, 4064, 8160, 16352, 32736, 65504, 131040, 262112};
    return quick ? numbers{1472, 11776} : numbers{1400, 2944, 5888, 11776, 23552, 35328, 47104};
}

numbers values_for(const parameter &p, path_kind kind, bool quick)
{
    numbers list;
    if (p.name == "window") list = window_values(kind, quick);
    if (p.name == "fragment") list = fragment_values(kind, quick);
    if (p.name == "batch") list = quick ? numbers{1024, 16384} : numbers{64, 1024, 2048, 8192, 16384, 32768};
    list.push_back(onesea::profile{}.of(kind).*p.value);
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

std::vector<tune_case> cases_for(const parameter &p, path_kind kind, bool quick)
{
    if (p.name == "batch") return cases_of("burst", {2, 16, 128, 1024});
    if (p.name == "window" && kind != path_kind::shm) return cases_of("stream", {65536, 1u << 20});
    std::vector<std::size_t> sizes = {65536, 262144, 1u << 20};
    if (!quick) sizes.push_back(4u << 20);
    return cases_of(bulk_of(kind), sizes);
}

std::vector<tune_case> crossing_cases(path_kind kind, const parameter &p)
{
    std::vector<std::size_t> sizes = {256, 1024, 2048, 4096, 8192};
    if (kind != path_kind::shm) sizes.insert(sizes.end(), {16384, 32768, 60000});
    if (p.most >= 65536) sizes.push_back(65536);
    std::erase_if(sizes, [&](std::size_t n) { return n <= p.least; });
    return cases_of(p.name == "eager" ? "am" : "message", sizes);
}

} // namespace

std::vector<experiment> experiments_for(path_kind kind, bool quick, const std::vector<std::string> &only)
{
    std::vector<experiment> all;
    for (const char *name : {"window", "fragment", "batch", "eager", "eager_message"}) {
        const parameter *p = onesea::find_parameter(kind, name);
        if (!p || (!only.empty() && std::find(only.begin(), only.end(), name) == only.end())) continue;
        if (p->name.starts_with("eager"))
            all.push_back({p, {p->least, p->most}, crossing_cases(kind, *p), true});
        else
            all.push_back({p, values_for(*p, kind, quick), cases_for(*p, kind, quick), false});
    }
    return all;
}

std::vector<tune_case> sizes_of_figure(path_kind kind, bool quick)
{
    std::vector<tune_case> all;
    for (std::size_t n = quick ? 4096 : 1024; n <= (quick ? 1u << 20 : 16u << 20); n *= quick ? 4 : 2)
        all.push_back({bulk_of(kind), n});
    return all;
}

} // namespace bench
