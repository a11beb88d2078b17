// SPDX-License-Identifier: Apache-2.0
#include "comm.hpp"

#include <algorithm>

namespace npb {

double comm::maximum(double value)
{
    std::vector<double> all(static_cast<std::size_t>(size()));
    allgather(&value, all.data(), sizeof value);
    return *std::max_element(all.begin(), all.end());
}

} // namespace npb
