// SPDX-License-Identifier: Apache-2.0
// The verbs of `onesea`. Each takes what follows its name and returns the exit status.
#pragma once

#include <string>
#include <vector>

namespace onesea::cli {

using arguments = std::vector<std::string>;

int run(const arguments &args);
int doctor(const arguments &args);
int bench(const arguments &args);
int tune(const arguments &args);
int top(const arguments &args);
int agent(const arguments &args); // started by `run`, not by people

} // namespace onesea::cli
