// SPDX-License-Identifier: Apache-2.0
// Options whose value is a time. CLI::Range lets pass what is not a number.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <string>

namespace onesea::cli {

inline CLI::Validator seconds_between(double least, double most)
{
    const auto wrong = [least, most](const std::string &text) -> std::string {
        double seconds = 0;
        if (CLI::detail::lexical_cast(text, seconds) && seconds >= least && seconds <= most) return {};
        return fmt::format("'{}' is not a number of seconds between {} and {}", text, least, most);
    };
    return CLI::Validator(wrong, fmt::format("SECONDS in [{} - {}]", least, most));
}

} // namespace onesea::cli
