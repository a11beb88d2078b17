// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "run_options.hpp"

#include "agent/launcher.hpp"

#include <unistd.h>

namespace onesea::cli {

int run(const arguments &args)
{
    auto request = parse_run(args, isatty(STDOUT_FILENO));
    return request ? onesea::agent::run_job(*request) : 0;
}

} // namespace onesea::cli
