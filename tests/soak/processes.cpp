// SPDX-License-Identifier: Apache-2.0
#include "processes.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace fs = std::filesystem;

namespace {

std::string path_of(int pid, const char *what) { return "/proc/" + std::to_string(pid) + "/" + what; }

bool is_number(const std::string &text) { return text.find_first_not_of("0123456789") == text.npos; }

} // namespace

std::vector<int> children_of(int pid)
{
    std::vector<int> all;
    std::error_code gone;
    for (fs::directory_iterator task(path_of(pid, "task"), gone), end; !gone && task != end; task.increment(gone)) {
        std::ifstream file(task->path() / "children");
        for (int child; file >> child;) all.push_back(child);
    }
    return all;
}

std::vector<int> descendants_of(int pid)
{
    std::vector<int> all = children_of(pid);
    for (std::size_t i = 0; i < all.size(); ++i)
        for (int child : children_of(all[i])) all.push_back(child);
    return all;
}

std::vector<int> all_processes()
{
    std::vector<int> all;
    std::error_code gone;
    for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone))
        if (is_number(at->path().filename())) all.push_back(std::stoi(at->path().filename()));
    return all;
}

std::string name_of(int pid)
{
    std::string name = "?";
    std::ifstream file(path_of(pid, "comm"));
    std::getline(file, name);
    return name;
}

std::string variable_of(int pid, const std::string &name)
{
    std::ifstream file(path_of(pid, "environ"));
    for (std::string entry; std::getline(file, entry, '\0');)
        if (entry.compare(0, name.size() + 1, name + "=") == 0) return entry.substr(name.size() + 1);
    return "";
}
