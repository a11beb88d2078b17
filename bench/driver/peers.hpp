// SPDX-License-Identifier: Apache-2.0
// Other software that is installed: found at run time, started with settings that force the path that we compare with.
#pragma once

#include "driver/cable.hpp"
#include "driver/places.hpp"
#include "driver/process.hpp"

#include <string>
#include <vector>

namespace bench {

struct peer {
    std::string name, version;
    std::string launcher;                                    // full name of its mpiexec
    std::string rma, pingpong, empty, collectives, patterns; // our programs built with its compiler

    // Its launcher with `ranks` ranks of a program; path "net": TCP over the loopback even inside this machine.
    command launch(int ranks, const std::string &path, const std::vector<std::string> &program) const;

    // An even number of ranks of a program, half at each end of a cable, TCP along it.
    command launch(const cable &along, const std::vector<std::string> &program, int ranks = 2) const;
};

// The MPIs that can be measured. Says on stderr which are not there and why.
std::vector<peer> find_peers();

// UCX over TCP: runs one test of ucx_perftest (such as "ucp_fadd") and gives its median latency in microseconds, or a
// negative number; what went wrong is told on stderr.
class ucx {
  public:
    static std::vector<ucx> find(); // none or one
    const std::string &version() const { return version_; }
    // Over the loopback, or along a cable if there is one.
    double latency(const std::string &test, double seconds, const core_pair &cores, const cable *along) const;

  private:
    std::string program_, version_;
};

// A provider of libfabric that goes over the network, measured by our own program.
struct fabric {
    std::string name, provider, version, program;
    bool slow_streams; // a turn of bandwidths takes seconds

    // Over the loopback, or along a cable if there is one.
    command measurement(const std::string &milliseconds, const core_pair &cores, const cable *along,
                        const std::vector<std::string> &cases) const;
};

// The providers that can be measured; `all`: also one that is nearly the same as another. Says on stderr what is
// missing.
std::vector<fabric> find_fabrics(bool all);

} // namespace bench
