// SPDX-License-Identifier: Apache-2.0
#include "traces.hpp"

#include "processes.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

constexpr const char *shared_folder = "/dev/shm";

// Calls use(target of the link, its path) for each descriptor of a process.
void each_descriptor(int pid, const std::function<void(const std::string &, const fs::path &)> &use)
{
    std::error_code gone;
    for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", gone), end; !gone && at != end;
         at.increment(gone)) {
        std::error_code closed;
        const fs::path target = fs::read_symlink(at->path(), closed);
        if (!closed) use(target, at->path());
    }
}

// 0: it is no socket.
ino_t socket_number(const std::string &target)
{
    constexpr std::string_view prefix = "socket:[";
    return target.compare(0, prefix.size(), prefix) == 0 ? std::strtoull(target.c_str() + prefix.size(), nullptr, 10)
                                                         : 0;
}

bool is_memory(const std::string &target)
{
    return target.find("memfd:onesea") != target.npos || target.compare(0, 9, "/dev/shm/") == 0;
}

std::set<std::string> names_in(const fs::path &folder)
{
    std::set<std::string> names;
    std::error_code none;
    for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
        names.insert(at->path().filename());
    return names;
}

// The word at that place of each line of a table in /proc/net.
std::set<ino_t> numbers_in(const char *table, unsigned column)
{
    std::set<ino_t> numbers;
    std::ifstream file(std::string("/proc/net/") + table);
    std::string line, word;
    std::getline(file, line); // the heads
    while (std::getline(file, line)) {
        std::istringstream words(line);
        for (unsigned i = 0; i <= column; ++i) words >> word;
        numbers.insert(std::strtoull(word.c_str(), nullptr, 10));
    }
    return numbers;
}

} // namespace

traces::traces(std::string mark, std::string folder)
    : mark_(std::move(mark)), folder_(std::move(folder)), names_before_(names_in(shared_folder))
{
    each_descriptor(getpid(), [&](const std::string &target, const fs::path &) {
        if (ino_t socket = socket_number(target)) own_sockets_.insert(socket);
    });
}

void traces::collect(const std::vector<int> &processes)
{
    for (int pid : processes)
        each_descriptor(pid, [&](const std::string &target, const fs::path &path) {
            if (ino_t socket = socket_number(target); socket && !own_sockets_.count(socket)) sockets_.insert(socket);
            struct stat info;
            if (is_memory(target) && stat(path.c_str(), &info) == 0) memories_.insert({info.st_dev, info.st_ino});
        });
}

void traces::look_for_processes(std::vector<std::string> *found) const
{
    for (int pid : all_processes()) {
        const std::string who = std::to_string(pid) + " (" + name_of(pid) + ")";
        if (variable_of(pid, variable) == mark_) found->push_back("process " + who);
        each_descriptor(pid, [&](const std::string &target, const fs::path &path) {
            struct stat info;
            if (sockets_.count(socket_number(target))) found->push_back("a socket in process " + who);
            if (is_memory(target) && stat(path.c_str(), &info) == 0 && memories_.count({info.st_dev, info.st_ino}))
                found->push_back("memory " + target + " in process " + who);
        });
    }
}

void traces::look_for_sockets(std::vector<std::string> *found) const
{
    struct table {
        const char *name;
        unsigned column;
    };
    for (table t : {table{"udp", 9}, table{"udp6", 9}, table{"tcp", 9}, table{"tcp6", 9}, table{"unix", 6}})
        for (ino_t number : numbers_in(t.name, t.column))
            if (sockets_.count(number))
                found->push_back("socket " + std::to_string(number) + " in /proc/net/" + t.name);
}

void traces::look_for_files(std::vector<std::string> *found) const
{
    for (const std::string &name : names_in(shared_folder))
        if (!names_before_.count(name) && name.find("sea") != name.npos) found->push_back("/dev/shm/" + name);
    for (const std::string &name : names_in(folder_)) found->push_back("file " + folder_ + "/" + name);
}

std::vector<std::string> traces::left() const
{
    std::vector<std::string> found;
    look_for_processes(&found);
    look_for_sockets(&found);
    look_for_files(&found);
    return found;
}
