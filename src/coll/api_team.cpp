// SPDX-License-Identifier: Apache-2.0
// sea_team_*: a split gathers everybody's color and key and lets each member compute the rest; a creation needs no
// message at all.
#include "coll/run.hpp"

#include <algorithm>
#include <unordered_set>

using namespace onesea;
using namespace onesea::coll;

namespace {

struct wish {
    std::int32_t color, key;
};

std::vector<int> members_of_color(const team &parent, const std::vector<wish> &wishes, int color)
{
    std::vector<int> chosen;
    for (int member = 0; member < int(wishes.size()); ++member)
        if (wishes[std::size_t(member)].color == color) chosen.push_back(member);
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](int a, int b) { return wishes[std::size_t(a)].key < wishes[std::size_t(b)].key; });
    for (int &member : chosen) member = parent.who.rank(member);
    return chosen;
}

int split(sea_team handle, int color, int key, sea_team *result)
{
    std::shared_ptr<team> parent;
    if (int status = member_of("sea_team_split", handle, &parent)) return status;
    if (!result) return fail(SEA_ERR_INVALID, "sea_team_split: result is null");
    const wish mine{color, key};
    std::vector<wish> wishes(std::size_t(parent->who.size()));
    std::uint32_t sequence = 0;
    int status = run("sea_team_split", *parent, {.what = kind::split}, [&](call &c) {
        sequence = c.sequence();
        // Through work space: if the call fails, late data must not find the vector gone.
        std::byte *all = c.scratch(wishes.size() * sizeof mine), *own = c.scratch(sizeof mine);
        if (c.broken()) return;
        copy_part(own, &mine, sizeof mine);
        allgather(c, own, all, sizeof mine);
        copy_part(wishes.data(), all, wishes.size() * sizeof mine);
    });
    if (status != SEA_OK) return status;
    if (color < 0) {
        *result = SEA_TEAM_NULL;
        return SEA_OK;
    }
    return the_teams().add("sea_team_split", context_of_split(parent->context, sequence, color),
                           members(members_of_color(*parent, wishes, color)), result);
}

int check_list(const int *ranks, int n)
{
    if (n <= 0 || !ranks) return fail(SEA_ERR_INVALID, "sea_team_create: {} ranks at {}", n, fmt::ptr(ranks));
    std::unordered_set<int> seen;
    for (int i = 0; i < n; ++i) {
        if (ranks[i] < 0 || ranks[i] >= sea_size())
            return fail(SEA_ERR_RANK, "sea_team_create: ranks[{}] is {}, the job has ranks 0..{}", i, ranks[i],
                        sea_size() - 1);
        if (!seen.insert(ranks[i]).second)
            return fail(SEA_ERR_INVALID, "sea_team_create: rank {} is listed twice", ranks[i]);
    }
    if (!seen.contains(sea_rank()))
        return fail(SEA_ERR_INVALID, "sea_team_create: rank {}, the caller, is not in the list", sea_rank());
    return SEA_OK;
}

int create(const int *ranks, int n, int tag, sea_team *result)
{
    if (int status = core::check_started("sea_team_create")) return status;
    if (!result) return fail(SEA_ERR_INVALID, "sea_team_create: result is null");
    if (int status = check_list(ranks, n)) return status;
    std::vector<int> all(ranks, ranks + n);
    const context_id list = context_of_list(all, tag);
    const context_id id = context_of_use(list, the_teams().count_use(list));
    for (int rank : all)
        if (sea_alive(rank) != 1) return fail(SEA_ERR_DEAD, "sea_team_create: rank {} has ended", rank);
    return the_teams().add("sea_team_create", id, members(std::move(all)), result);
}

int find(const char *function, sea_team handle, std::shared_ptr<team> *t)
{
    if (int status = core::check_started(function)) return status;
    return the_teams().find(function, handle, t);
}

} // namespace

int sea_team_split(sea_team handle, int color, int key, sea_team *result)
{
    return guarded("sea_team_split", [&] { return split(handle, color, key, result); });
}

int sea_team_create(const int *ranks, int n, int tag, sea_team *result)
{
    return guarded("sea_team_create", [&] { return create(ranks, n, tag, result); });
}

int sea_team_free(sea_team handle)
{
    if (int status = core::check_started("sea_team_free")) return status;
    return guarded("sea_team_free", [&] { return the_teams().remove(handle); });
}

int sea_team_rank(sea_team handle)
{
    std::shared_ptr<team> t;
    if (int status = find("sea_team_rank", handle, &t)) return status;
    if (t->me >= 0) return t->me;
    return fail(SEA_ERR_RANK, "sea_team_rank: rank {} is not a member of the team", sea_rank());
}

int sea_team_size(sea_team handle)
{
    std::shared_ptr<team> t;
    if (int status = find("sea_team_size", handle, &t)) return status;
    return t->who.size();
}

int sea_team_member(sea_team handle, int member)
{
    std::shared_ptr<team> t;
    if (int status = find("sea_team_member", handle, &t)) return status;
    if (member >= 0 && member < t->who.size()) return t->who.rank(member);
    return fail(SEA_ERR_RANK, "sea_team_member: there is no member {}; the team has {}", member, t->who.size());
}
