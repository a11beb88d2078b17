// SPDX-License-Identifier: Apache-2.0
#include "driver/options.hpp"

#include "driver/machine.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace bench {
namespace {

constexpr double no_limit = 1e6;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool wanted(const std::vector<std::string> &list, const std::string &name)
{
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

// 0, or the number of the system's error.
int try_to_write(const std::filesystem::path &file, const std::string &text)
{
    errno = 0;
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    stream.close();
    return stream ? 0 : errno ? errno : EIO;
}

// Is there room? In a file of a name that nobody has prepared.
int try_to_write_in(const std::string &folder)
{
    std::string probe = folder + "/onesea-XXXXXX";
    const int fd = mkstemp(probe.data());
    if (fd < 0) return errno;
    const std::string page(4096, '\n');
    const ssize_t written = write(fd, page.data(), page.size());
    const int error = written < 0 ? errno : std::size_t(written) < page.size() ? ENOSPC : 0;
    close(fd);
    unlink(probe.c_str());
    return error;
}

std::string setting_line(const setting &on)
{
    return fmt::format("\nmeasured on {}, with a library that is {}trained\n", on.machine, on.trained ? "" : "not ");
}

} // namespace

bool options::wants_case(const std::string &name) const { return wanted(cases, name); }
bool options::wants_path(const std::string &name) const { return wanted(paths, name); }
bool options::names_path(const std::string &name) const { return !paths.empty() && wanted(paths, name); }

budget::budget(bool quick, double seconds) : end_(now() + (quick ? seconds : no_limit)) {}
budget::budget(const options &o, double seconds) : budget(o.quick, o.seconds > 0 ? o.seconds : seconds) {}

double budget::left() const { return end_ - now(); }

void prepare_folder(const std::string &folder)
{
    if (folder.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error) error.assign(try_to_write_in(folder), std::generic_category());
    if (error) throw place_error(fmt::format("--out: nothing can be written in '{}': {}", folder, error.message()));
}

void write_file(const std::string &folder, const std::string &name, const std::string &text)
{
    const auto file = std::filesystem::path(folder) / name;
    if (const int error = try_to_write(file, text))
        throw place_error(fmt::format("'{}' cannot be written: {}", file.string(), strerror(error)));
    progress("wrote " + file.string());
}

void progress(const std::string &line) { std::fputs((line + "\n").c_str(), stderr); } // fmt::print() throws

void publish(const std::vector<figure> &figures, const options &o, const std::string &name,
             const std::function<std::vector<std::pair<std::string, std::string>>()> &pictures,
             const std::function<std::string(const std::vector<figure> &)> &for_people)
{
    const setting on{machine_text(), ONESEA_TRAINED};
    std::string lines;
    for (const auto &f : figures) lines += json_line(f, on) + '\n';
    const std::string shown = o.json ? lines : for_people(figures) + setting_line(on);
    const bool good = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0;
    const int error = errno;
    if (!o.out.empty()) {
        write_file(o.out, name + ".json", lines);
        for (const auto &[file, text] : pictures()) write_file(o.out, file, text);
    }
    if (!ONESEA_TRAINED)
        progress(name + ": the library has not been trained, which makes small operations faster: ./dev train");
    if (!good) throw std::runtime_error(fmt::format("stdout cannot be written: {}", strerror(error)));
}

} // namespace bench
