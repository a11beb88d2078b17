// SPDX-License-Identifier: Apache-2.0
// Words for the user, on stderr. Who has closed it, or whose disk is full, is told nothing, and all else goes on:
// fmt::print() would throw.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <string>

namespace onesea {

template <class... Args>
void tell(fmt::format_string<Args...> format, Args &&...args)
{
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace onesea
