// SPDX-License-Identifier: Apache-2.0
// Processes as /proc shows them.
#pragma once

#include <string>
#include <vector>

std::vector<int> children_of(int pid);
std::vector<int> descendants_of(int pid);
std::vector<int> all_processes();

std::string name_of(int pid);

// The value of a variable that the process was started with; "" without it, or if the process is not ours.
std::string variable_of(int pid, const std::string &name);
