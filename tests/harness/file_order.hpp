// SPDX-License-Identifier: Apache-2.0
// Steps that announce themselves before main() do so in the order in which their objects were linked, which the build
// chooses. They are to run in the order of their files, which have numbers, and of their lines.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

template <class Step>
void sort_by_file_and_line(std::vector<Step *> &steps)
{
    std::sort(steps.begin(), steps.end(), [](const Step *a, const Step *b) {
        const int files = std::strcmp(a->file, b->file);
        return files ? files < 0 : a->line < b->line;
    });
}
