// SPDX-License-Identifier: Apache-2.0
// An exception leaves the scope of the job on one rank while the others wait for it.
#include "onesea.hpp"

#include <cstdio>

int main()
{
    try {
        sea::job job;
        if (sea::rank() == 1) throw std::runtime_error("rank 1 has no input");
        sea::barrier();
        job.finish();
    } catch (const std::exception &problem) {
        std::printf("caught: %s\n", problem.what());
        return 3;
    }
}
