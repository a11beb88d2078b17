// SPDX-License-Identifier: Apache-2.0
#include "dsm/service.hpp"

#include <utility>

namespace bench {

std::vector<dsm_service::client> dsm_service::acquire(client who, std::uint64_t lock)
{
    one_lock &l = locks_.at(lock);
    if (!std::exchange(l.held, true)) return {who};
    l.waiting.push_back(who);
    return {};
}

std::vector<dsm_service::client> dsm_service::release(std::uint64_t lock)
{
    one_lock &l = locks_.at(lock);
    if (l.waiting.empty()) {
        l.held = false;
        return {};
    }
    const client next = l.waiting.front();
    l.waiting.pop_front();
    return {next};
}

std::vector<dsm_service::client> dsm_service::arrive(client who)
{
    arrived_.push_back(who);
    if (arrived_.size() < static_cast<std::size_t>(nodes_)) return {};
    return std::exchange(arrived_, {});
}

} // namespace bench
