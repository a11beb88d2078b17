// SPDX-License-Identifier: Apache-2.0
// Design. On one machine an MPI takes shared memory by itself; for the network path it is told to use TCP and nothing
// else, also for windows: MPICH by MPIR_CVAR_NOLOCAL (ranks are treated as if on different nodes) and UCX_TLS without
// shared memory, Open MPI by its tcp transport and the window component that uses it (pt2pt; the default would map the
// window into both processes). Measured as loopback bytes, both settings do send everything over the loopback. A
// provider of libfabric is chosen by its name, and none of those chosen knows shared memory.
//
// Along a cable there are two hosts, so ranks of one end take shared memory as they would on two machines, and TCP
// between the ends. Where ranks outnumber the processors, Open MPI is told to yield when idle: it would not notice by
// itself that both hosts are one machine, and be many times slower. MPICH knows no such setting.
#include "driver/peers.hpp"
#include "driver/options.hpp"

#include <arpa/inet.h>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr double version_seconds = 5;

// A library of libfabric's for hardware that is not used here otherwise catches a provider's fault, and leaves a file
// in the folder where the benchmark was started.
const std::map<std::string, std::string> fabric_environment = {{"IPATH_NO_BACKTRACE", "1"}};

std::string first_match(const std::string &text, const char *pattern)
{
    std::smatch match;
    return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

void append(command &c, const std::vector<std::string> &more) { c.argv.insert(c.argv.end(), more.begin(), more.end()); }

std::map<std::string, std::string> mpich_tcp(const std::string &device)
{
    return {{"MPIR_CVAR_NOLOCAL", "1"}, {"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", device}};
}

std::vector<std::string> openmpi_tcp(const std::string &device, const std::string &ways)
{
    return {"--mca", "pml",   "ob1", "--mca", "btl", ways, "--mca", "btl_tcp_if_include",
            device,  "--mca", "osc", "pt2pt"};
}

// For the files through which ranks of Open MPI share memory: where one is killed they stay, and this machine's
// shared memory fills up. "" if there is none: then they lie where it puts them.
class shared_folder {
  public:
    shared_folder()
    {
        if (mkdtemp(name_.data())) return;
        name_.clear();
    }
    ~shared_folder()
    {
        std::error_code ignored;
        if (!name_.empty()) std::filesystem::remove_all(name_, ignored);
    }
    shared_folder(const shared_folder &) = delete;
    shared_folder &operator=(const shared_folder &) = delete;
    const std::string &name() const { return name_; }

  private:
    std::string name_ = "/dev/shm/onesea-bench-XXXXXX";
};

void share_in_own_folder(command &c)
{
    static const shared_folder folder;
    if (folder.name().empty()) return;
    append(c,
           {"--mca", "btl_vader_backing_directory", folder.name(), "--mca", "osc_sm_backing_directory", folder.name()});
}

void yield_if_crowded(command &c, int ranks)
{
    if (ranks > sysconf(_SC_NPROCESSORS_ONLN)) append(c, {"--mca", "mpi_yield_when_idle", "1"});
}

// The launchers run at one end and reach the other by the cable's remote shell. "rsh": hydra then gives it nothing but
// the host. Open MPI starts the first rank itself ("localhost"): two daemons that begin at the same moment on one
// machine quarrel about the folder for their session.
command along_by_mpich(const cable &along, const std::string &launcher, int ranks)
{
    command c{{launcher, "-launcher", "rsh", "-launcher-exec", along.remote_shell(), "-iface", cable::device, "-hosts",
               along.from + "," + along.to, "-ppn", std::to_string(ranks / 2), "-n", std::to_string(ranks)},
              mpich_tcp(cable::device)};
    c.environment.erase("MPIR_CVAR_NOLOCAL");
    return c;
}

command along_by_openmpi(const cable &along, const std::string &launcher, int ranks)
{
    const std::string slots = ":" + std::to_string(ranks / 2);
    command c{{launcher, "--allow-run-as-root", "--mca", "plm_rsh_agent", along.remote_shell(), "--host",
               "localhost" + slots + "," + along.to + slots, "-n", std::to_string(ranks), "--bind-to", "none", "--mca",
               "oob_tcp_if_include", cable::device},
              {}};
    append(c, openmpi_tcp(cable::device, ranks > 2 ? "vader,tcp,self" : "tcp,self"));
    yield_if_crowded(c, ranks);
    return c;
}

command launch_mpich(const std::string &launcher, int ranks, bool net)
{
    command c{{launcher, "-launcher", "fork", "-n", std::to_string(ranks)}, {}};
    if (net) c.environment = mpich_tcp("lo");
    return c;
}

command launch_openmpi(const std::string &launcher, int ranks, bool net)
{
    command c{{launcher, "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)}, {}};
    if (geteuid() == 0) c.argv.insert(c.argv.begin() + 1, "--allow-run-as-root");
    const std::vector<std::string> shm = {"--mca", "pml", "ob1", "--mca", "btl", "vader,self", "--mca", "osc", "sm"};
    append(c, net ? openmpi_tcp("lo", "tcp,self") : shm);
    if (!net) share_in_own_folder(c);
    yield_if_crowded(c, ranks);
    return c;
}

void find_one(std::vector<peer> &found, const std::string &name, const std::string &launcher, const char *pattern)
{
    const auto program = in_path(launcher);
    const auto built = [&](const char *kind) { return find_own_program("onesea-bench-peer-" + name + "-" + kind); };
    const auto rma = built("rma"), pingpong = built("pingpong"), empty = built("empty");
    const auto collectives = built("collectives"), patterns = built("patterns");
    if (!program || !rma || !pingpong || !empty || !collectives || !patterns) {
        progress(
            name + " is left out: " +
            (program ? "its programs were not built (no mpicc." + name + " then)" : launcher + " is not installed"));
        return;
    }
    const auto version = run({{*program, "--version"}, {}}, version_seconds);
    if (!version.good()) {
        progress(name + " is left out: " + launcher + " --version fails: " + version.err);
        return;
    }
    found.push_back(
        {name, first_match(version.out, pattern), *program, *rma, *pingpong, *empty, *collectives, *patterns});
}

int free_port()
{
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    const bool good = bind(s, reinterpret_cast<sockaddr *>(&at), sizeof at) == 0 &&
                      getsockname(s, reinterpret_cast<sockaddr *>(&at), &length) == 0;
    close(s);
    return good ? ntohs(at.sin_port) : 0;
}

} // namespace

command peer::launch(int ranks, const std::string &path, const std::vector<std::string> &program) const
{
    const bool net = path == "net";
    command c = name == "mpich" ? launch_mpich(launcher, ranks, net) : launch_openmpi(launcher, ranks, net);
    append(c, program);
    return c;
}

command peer::launch(const cable &along, const std::vector<std::string> &program, int ranks) const
{
    command c = name == "mpich" ? along_by_mpich(along, launcher, ranks) : along_by_openmpi(along, launcher, ranks);
    append(c, program);
    return along.inside(along.from, c);
}

std::vector<peer> find_peers()
{
    std::vector<peer> found;
    find_one(found, "mpich", "mpiexec.mpich", "Version:\\s+([0-9.]+)");
    find_one(found, "openmpi", "mpirun.openmpi", "([0-9]+\\.[0-9.]+)");
    return found;
}

std::vector<fabric> find_fabrics(bool all)
{
    const auto program = find_own_program("onesea-bench-peer-libfabric-rma");
    if (!program) {
        progress("libfabric is left out: its program was not built (no libfabric-dev then)");
        return {};
    }
    const auto told = run({{*program, "--version"}, fabric_environment}, version_seconds);
    if (!told.good()) {
        progress("libfabric is left out: its program fails: " + told.err);
        return {};
    }
    const auto version = told.out.substr(0, told.out.find('\n'));
    std::vector<fabric> found = {{"libfabric_tcp", "tcp;ofi_rxm", version, *program, false},
                                 {"libfabric_udp", "udp;ofi_rxd", version, *program, true}};
    if (all) found.push_back({"libfabric_net", "net", version, *program, false});
    return found;
}

command fabric::measurement(const std::string &milliseconds, const core_pair &cores, const cable *along,
                            const std::vector<std::string> &cases) const
{
    command c{{program, "--provider", provider, "--ms", milliseconds, "--cores", cores.text()}, fabric_environment};
    if (along) append(c, {"--cable", along->ends()});
    append(c, cases);
    return c;
}

std::vector<ucx> ucx::find()
{
    const auto program = in_path("ucx_perftest"), info = in_path("ucx_info");
    if (!program) {
        progress("ucx is left out: ucx_perftest is not installed");
        return {};
    }
    ucx found;
    found.program_ = *program;
    if (info) found.version_ = first_match(run({{*info, "-v"}, {}}, version_seconds).out, "([0-9]+\\.[0-9.]+)");
    return {found};
}

double ucx::latency(const std::string &test, double seconds, const core_pair &cores, const cable *along) const
{
    const auto port = std::to_string(free_port());
    const std::map<std::string, std::string> tcp = {{"UCX_TLS", "tcp,self"},
                                                    {"UCX_NET_DEVICES", along ? cable::device : "lo"}};
    const auto pinned = [&](int core) { return command{{program_, "-c", std::to_string(core), "-p", port}, tcp}; };
    const command listening = pinned(cores.target);
    const background server(along ? along->inside(along->to, listening) : listening);
    command client = pinned(cores.origin);
    append(client, {along ? cable::to_address : "127.0.0.1", "-t", test, "-n", "4000", "-w", "400", "-f", "-v"});
    if (along) client = along->inside(along->from, client);
    std::string trouble;
    for (int attempt = 0; attempt < 20; attempt++) { // until the server listens
        const auto result = run(client, seconds);
        const auto figure = first_match(result.out, "\\n[0-9]+,([0-9.]+),");
        if (result.good() && !figure.empty()) return std::stod(figure);
        trouble = result.err;
        if (result.timed_out) break;
        usleep(50000);
    }
    progress("ucx: " + test + " gives nothing: " + trouble.substr(0, trouble.find('\n')));
    return -1;
}

} // namespace bench
