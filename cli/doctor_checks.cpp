// SPDX-License-Identifier: Apache-2.0
// Every check tries the thing itself where that is possible: a setting that reads well proves little in a container.
#include "doctor_checks.hpp"

#include "agent/address.hpp"
#include "agent/binding.hpp"
#include "agent/environment.hpp"
#include "agent/hosts.hpp"
#include "agent/profile_file.hpp"
#include "agent/start.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pages.hpp"
#include "net/crypto.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onesea::cli {
namespace {

std::string first_line(const char *path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string human(double bytes)
{
    const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t u = 0;
    for (; bytes >= 1024 && u < 4; ++u) bytes /= 1024;
    return fmt::format("{:.1f} {}", bytes, units[u]);
}

finding cores()
{
    std::size_t usable = onesea::agent::allowed_cpus().size();
    long there = sysconf(_SC_NPROCESSORS_ONLN);
    finding f{"cores", health::ok, fmt::format("{} usable of {}", usable, there), ""};
    if (usable == 1) {
        f.state = health::warn;
        f.text += "; ranks take turns, so waiting cannot spin";
        f.change = "give the container or the command more processors (taskset, cpuset)";
    }
    return f;
}

finding memory()
{
    double total = double(onesea::memory_of_machine(_SC_PHYS_PAGES));
    double free = double(onesea::memory_of_machine(_SC_AVPHYS_PAGES));
    finding f{"memory", health::ok, fmt::format("{}, {} free", human(total), human(free)), ""};
    if (total < 512.0 * 1024 * 1024) {
        f.state = health::warn;
        f.change = "use --heap to keep the heaps of the ranks small";
    }
    return f;
}

// Nothing to warn of: they are off in every distribution.
finding huge_pages()
{
    static const char file[] = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    const std::string line = first_line(file); // "always within_size advise [never] deny force"
    const std::size_t from = line.find('['), to = line.find(']');
    if (from == std::string::npos || to == std::string::npos)
        return {"huge pages", health::ok, "the kernel has none for shared memory", ""};
    const std::string chosen = line.substr(from + 1, to - from - 1);
    if (chosen != "never" && chosen != "deny")
        return {"huge pages", health::ok, fmt::format("the heaps of the ranks get them ({})", chosen), ""};
    const std::string now = chosen == "deny" ? "not for the heaps of the ranks" : "only for what is sent repeatedly";
    return {"huge pages", health::ok, fmt::format("{}; for all memory of the heaps: echo advise > {}", now, file), ""};
}

finding kernel()
{
    utsname u{};
    uname(&u);
    int major = 0, minor = 0;
    std::sscanf(u.release, "%d.%d", &major, &minor);
    bool old = major < 5 || (major == 5 && minor < 4);
    return {"kernel", old ? health::warn : health::ok, fmt::format("{} {}", u.sysname, u.release),
            old ? "Onesea is tested with Linux 5.10 and later" : ""};
}

finding clock_source()
{
    std::string name = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    timespec t;
    auto begin = now_ns();
    constexpr int calls = 10000;
    for (int i = 0; i < calls; ++i) clock_gettime(CLOCK_MONOTONIC, &t);
    double each = double(now_ns() - begin) / calls;
    finding f{"clock", health::ok, fmt::format("{}, {:.0f} ns a reading", name.empty() ? "unknown source" : name, each),
              ""};
    if (each > 200) {
        f.state = health::warn;
        f.text += "; reading it is a system call, which adds to every timed wait";
        f.change = "boot with clocksource=tsc, or kvm-clock in a virtual machine, if it is stable";
    }
    return f;
}

finding file_limit()
{
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    finding f{"open files", health::ok, fmt::format("{} allowed (hard limit)", limit.rlim_max), ""};
    if (limit.rlim_max < 2048) {
        f.state = health::warn;
        const rlim_t others = 40; // of the agent itself, and for ranks that sea_spawn() may add
        f.text += fmt::format("; a node uses about 6 per rank, so some {} ranks fit",
                              limit.rlim_max > others ? (limit.rlim_max - others) / 6 : 0);
        f.change = "raise it: ulimit -Hn, or nofile in /etc/security/limits.conf";
    }
    return f;
}

finding memfd()
{
    int fd = memfd_create("onesea-doctor", MFD_CLOEXEC);
    if (fd < 0)
        return {"shared memory", health::bad, fmt::format("memfd_create: {}", strerror(errno)),
                "a sandbox forbids it; allow memfd_create"};
    bool good = ftruncate(fd, off_t(1) << 40) == 0;
    close(fd);
    if (good) return {"shared memory", health::ok, "memfd works, and may be larger than memory", ""};
    return {"shared memory", health::warn, "memfd works, but not with 1 TiB of addresses",
            "use --heap to keep heaps small (ulimit -f)"};
}

finding process_vm()
{
    long word = 0x5ea, theirs_is = 0;
    const pid_t parent = getpid(), child = fork();
    if (child < 0)
        return {"process_vm", health::warn, fmt::format("cannot be tried: fork: {}", strerror(errno)),
                "raise the limit of processes (ulimit -u, or pids.max of the control group)"};
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) pause();
        _exit(0);
    }
    iovec ours{&word, sizeof word}, theirs{&theirs_is, sizeof word};
    ssize_t wrote = process_vm_writev(child, &ours, 1, &theirs, 1, 0);
    int error = errno;
    long back = 0;
    ours.iov_base = &back;
    ssize_t got = process_vm_readv(child, &ours, 1, &theirs, 1, 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
    std::string yama = scope.empty() ? "no ptrace restriction" : "ptrace_scope " + scope;
    if (wrote != ssize_t(sizeof word) || got != ssize_t(sizeof back) || back != word)
        return {"process_vm", health::warn,
                fmt::format("process_vm_writev: {} ({}); registered private memory goes through the owner's dispatcher",
                            strerror(error), yama),
                "in a container allow CAP_SYS_PTRACE or a seccomp profile with process_vm_readv"};
    // A child is below its parent; ranks are siblings, which a scope of 1 forbids unless the rank allows it.
    if (scope == "2" || scope == "3")
        return {"process_vm", health::warn, "ptrace_scope " + scope + " keeps ranks from each other's private memory",
                "sysctl kernel.yama.ptrace_scope=1"};
    return {"process_vm", health::ok, "memory of another process can be read and written (" + yama + ")", ""};
}

finding userfault()
{
    int fd = int(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
    int error = errno;
    if (fd < 0) fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return {"userfaultfd", health::ok, "programs can handle page faults themselves; nothing here needs it", ""};
    }
    return {"userfaultfd", health::ok, fmt::format("{}; nothing here needs it", strerror(error)), ""};
}

finding offload(const char *name, bool works, const char *what)
{
    if (works) return {name, health::ok, fmt::format("the kernel {}", what), ""};
    return {name, health::warn,
            fmt::format("the kernel does not do it; bulk data between nodes is several times slower"),
            "use Linux 5.0 or later"};
}

// GB/s of long packets in that mode.
double sealing_speed(net::secure_mode mode)
{
    constexpr unsigned rounds = 200;
    net::crypto cipher(mode);
    const net::direction_keys keys = net::derive_keys(mode, {}, 0, 1, 0);
    std::vector<std::byte> packet(60'000);
    const auto begin = now_ns();
    for (unsigned i = 0; i < rounds; ++i) cipher.seal(keys, i, packet);
    return double(rounds) * double(packet.size()) / double(now_ns() - begin);
}

// What protects packets, and how fast.
finding cipher()
{
    constexpr double slow = 3; // GB/s; the slowest with AES instructions has 10, without them it is less than one
    if (!net::crypto_ready()) return {"cipher", health::bad, "the cryptographic libraries do not work here", ""};
    const double auth = sealing_speed(net::secure_mode::auth), encrypt = sealing_speed(net::secure_mode::encrypt);
    finding f{"cipher", health::ok,
              fmt::format("AEGIS-128, {:.1f} GB/s authenticated, {:.1f} GB/s encrypted", auth, encrypt), ""};
    if (auth < slow) {
        f.state = health::warn;
        f.change = "use processors with AES instructions (and let virtual machines see them)";
    }
    return f;
}

finding socket_buffers()
{
    net::udp_socket socket;
    if (net::open_udp_socket("127.0.0.1", &socket) != SEA_OK)
        return {"udp sockets", health::bad, last_error(), "jobs of several nodes need UDP on at least loopback"};
    close(socket.fd);
    finding f{"udp buffers", health::ok,
              fmt::format("receive {}, send {}", human(double(socket.receive_bytes)), human(double(socket.send_bytes))),
              ""};
    if (socket.receive_bytes < (1u << 20)) {
        f.state = health::warn;
        f.text += fmt::format("; net.core.rmem_max is {}, which bounds what may be under way between nodes",
                              first_line("/proc/sys/net/core/rmem_max"));
        f.change = fmt::format("sysctl net.core.rmem_max={} net.core.wmem_max={}", net::wanted_socket_buffer,
                               net::wanted_socket_buffer);
    }
    return f;
}

finding ssh_client()
{
    const char *path = getenv("PATH");
    std::string found;
    if (const char *shell = getenv("ONESEA_RSH"))
        return {"remote shell", health::ok, fmt::format("ONESEA_RSH '{}'", shell), ""};
    if (onesea::agent::find_program("ssh", path ? path : "/usr/bin:/bin", "", &found) == 0)
        return {"remote shell", health::ok, found + " (must log in without a password: ssh -o BatchMode=yes HOST true)",
                ""};
    return {"remote shell", health::warn, "there is no ssh; only this machine can take part",
            "install openssh-client, or set ONESEA_RSH"};
}

finding choice(const char *name, const char *transport, bool loopback)
{
    std::string error;
    auto chosen = onesea::agent::choose_address({"", "", loopback}, net::list_interfaces(), &error);
    if (!chosen) return {name, health::bad, error, "bring an interface up: ip link set lo up"};
    finding f{name, health::ok,
              fmt::format("{} over {} ({}, mtu {}): {}", transport, chosen->interface, net::to_string(chosen->address),
                          chosen->mtu, chosen->why),
              ""};
    if (!loopback && chosen->address.is_loopback()) {
        f.state = health::warn;
        f.text = "only loopback is up; other machines cannot be reached";
        f.change = "bring a network interface up, or name one with --iface";
    }
    return f;
}

// Which profile jobs load, and what it says for each kind of path.
std::vector<finding> tuned()
{
    try {
        const auto chosen = onesea::agent::choose_profile("");
        const bool found = !chosen.file.empty();
        std::vector<finding> list{{"profile", health::ok,
                                   found ? chosen.file : "none: the defaults; 'onesea tune' measures what is best here",
                                   ""}};
        for (path_kind path : all_paths) {
            const path_tuning &values = chosen.values.of(path);
            const bool changed = values != profile{}.of(path);
            list.push_back({fmt::format("profile {}", name_of(path)), health::ok,
                            to_text(path, values) + (changed ? "" : " (the defaults)"), ""});
        }
        return list;
    } catch (const onesea::agent::request_error &e) {
        return {{"profile", health::bad, e.what(),
                 "correct or remove it, or measure again: onesea tune; onesea run --profile none runs without it"}};
    }
}

} // namespace

std::vector<finding> examine_machine()
{
    return {cores(),      memory(), huge_pages(), kernel(),   clock_source(),
            file_limit(), memfd(),  process_vm(), userfault()};
}

std::vector<finding> examine_network()
{
    std::vector<finding> list;
    for (const auto &i : net::list_interfaces())
        if (i.up)
            list.push_back(
                {"interface " + i.name, health::ok, fmt::format("{}, mtu {}", net::to_string(i.address), i.mtu), ""});
    if (list.empty()) list.push_back({"interfaces", health::warn, "none is up", "ip link set lo up"});
    list.push_back(offload("gso", net::supports_gso(), "cuts one send into many datagrams"));
    list.push_back(offload("gro", net::supports_gro(), "joins datagrams on receipt"));
    list.push_back(cipher());
    list.push_back(socket_buffers());
    list.push_back(ssh_client());
    return list;
}

std::vector<finding> examine_choices()
{
    std::vector<finding> list{
        {"ranks of one node", health::ok, "shm: they share the machine's memory", ""},
        choice("virtual nodes here", "net", true),
        choice("nodes on two machines", "net", false),
    };
    for (finding &f : tuned()) list.push_back(std::move(f));
    for (const auto &[name, near] : onesea::agent::unknown_variables(environ))
        list.push_back({"variable " + name, health::warn, "nothing reads it",
                        near.empty() ? "unset it" : "did you mean " + near + "?"});
    return list;
}

} // namespace onesea::cli
