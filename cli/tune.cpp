// SPDX-License-Identifier: Apache-2.0
// `onesea tune` runs the program onesea-tune.
#include "commands.hpp"
#include "helpers.hpp"

#include "agent/hosts.hpp"

namespace onesea::cli {

int tune(const arguments &args)
{
    run_helper("onesea-tune", args);
    throw onesea::agent::request_error("onesea-tune is neither beside this command nor in ../libexec/onesea", 127);
}

} // namespace onesea::cli
