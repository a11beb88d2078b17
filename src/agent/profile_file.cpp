// SPDX-License-Identifier: Apache-2.0
#include "agent/profile_file.hpp"

#include "agent/hosts.hpp"
#include "agent/text_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace onesea::agent {
namespace {

namespace fs = std::filesystem;
constexpr const char *format_key = "onesea_profile", *about_key = "about";

std::string names_of_paths()
{
    std::string names;
    for (path_kind path : all_paths) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(path));
    return names;
}

std::string names_of_parameters(path_kind path)
{
    std::string names;
    for (const parameter &p : parameters_of(path)) names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name);
    return names;
}

// As an error says it, however deep or long it is.
std::string shown(const nlohmann::json &value)
{
    constexpr std::size_t most = 40;
    if (value.is_structured()) return value.is_array() ? "a list" : "an object";
    const std::string text = value.dump();
    return text.size() <= most ? text : "a long text";
}

void read_value(path_kind path, const std::string &name, const nlohmann::json &value, path_tuning *to)
{
    const std::string field = fmt::format("{}.{}", name_of(path), name);
    const parameter *p = find_parameter(path, name);
    if (!p)
        throw request_error(fmt::format("'{}' is unknown; {} has {}", field, name_of(path), names_of_parameters(path)));
    if (!value.is_number_unsigned()) // also what is negative or has a fraction
        throw request_error(
            fmt::format("{} is {}, not a number of bytes in {}..{}", field, shown(value), p->least, p->most));
    const std::string wrong = what_is_wrong(*p, value.get<std::uint64_t>());
    if (!wrong.empty()) throw request_error(fmt::format("{}: {}", field, wrong));
    to->*(p->value) = value.get<std::uint32_t>();
}

void read_section(path_kind path, const nlohmann::json &section, path_tuning *to)
{
    if (!section.is_object()) throw request_error(fmt::format("'{}' is not an object with numbers", name_of(path)));
    for (const auto &[name, value] : section.items()) read_value(path, name, value, to);
}

void check_format(const nlohmann::json &all)
{
    auto format = all.find(format_key);
    if (format == all.end())
        throw request_error(fmt::format("there is no \"{}\": {}; is it a profile?", format_key, profile_format));
    if (*format != profile_format)
        throw request_error(
            fmt::format("\"{}\" is {}; this version reads {}", format_key, shown(*format), profile_format));
}

} // namespace

profile profile_from(const nlohmann::json &sections)
{
    profile values;
    if (!sections.is_object()) throw request_error("a profile is a JSON object");
    for (const auto &[name, section] : sections.items()) {
        bool known = false;
        for (path_kind path : all_paths) {
            if (name != name_of(path)) continue;
            read_section(path, section, &values.of(path));
            known = true;
        }
        if (!known) throw request_error(fmt::format("'{}' is unknown; there are {}", name, names_of_paths()));
    }
    return values;
}

profile parse_profile(std::string_view text, std::string_view name)
{
    try {
        if (text.empty()) throw request_error("it is empty");
        nlohmann::json all = nlohmann::json::parse(text);
        if (!all.is_object()) throw request_error("a profile is a JSON object");
        check_format(all);
        all.erase(format_key);
        all.erase(about_key);
        return profile_from(all);
    } catch (const nlohmann::json::exception &e) {
        throw request_error(fmt::format("profile '{}': {}", name, e.what()));
    } catch (const request_error &e) {
        throw request_error(fmt::format("profile '{}': {}", name, e.what()));
    }
}

profile read_profile(const std::string &path) { return parse_profile(read_text_file("profile", path), path); }

std::string usual_profile()
{
    const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
    if (config && config[0] == '/') return std::string(config) + "/onesea/profile.json";
    if (home && home[0] == '/') return std::string(home) + "/.config/onesea/profile.json";
    return "";
}

chosen_profile choose_profile(const std::string &wanted)
{
    if (wanted == "none") return {};
    if (!wanted.empty()) return {read_profile(wanted), wanted};
    const std::string usual = usual_profile();
    std::error_code none;
    if (usual.empty() || !fs::exists(usual, none)) return {};
    return {read_profile(usual), usual};
}

namespace {

[[noreturn]] void cannot_write(const std::string &path, const std::string &why)
{
    throw request_error(fmt::format("the profile '{}' cannot be written: {}", path, why));
}

void make_folder_of(const std::string &path)
{
    std::error_code error;
    if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, error);
    if (error) cannot_write(path, error.message());
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) cannot_write(path, "it is no regular file");
}

// A file beside the profile that nobody has: another one's, or what a link of that name leads to, is not written to.
// It goes with this object, unless it was put in the place of the profile.
class new_file {
  public:
    explicit new_file(const std::string &profile) : profile_(profile)
    {
        for (int i = 0; fd_ < 0 && i < 100; ++i) {
            path_ = fmt::format("{}.{}.{}.part", profile, getpid(), i);
            fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (fd_ < 0 && errno != EEXIST) break;
        }
        if (fd_ < 0) cannot_write(profile, strerror(errno));
    }
    ~new_file()
    {
        if (fd_ >= 0) close(fd_);
        if (!path_.empty()) unlink(path_.c_str());
    }
    new_file(const new_file &) = delete;
    new_file &operator=(const new_file &) = delete;

    // All of it; a full disk may be told by the end only.
    void write_and_close(std::string_view text)
    {
        for (ssize_t n = 0; !text.empty(); text.remove_prefix(std::size_t(n)))
            if ((n = write(fd_, text.data(), text.size())) < 0) cannot_write(profile_, strerror(errno));
        if (close(std::exchange(fd_, -1)) != 0) cannot_write(profile_, strerror(errno));
    }

    // What was there is kept as PATH.old.
    void replace_profile()
    {
        const std::string old = profile_ + ".old";
        unlink(old.c_str());
        if (link(profile_.c_str(), old.c_str()) != 0 && errno != ENOENT && rename(profile_.c_str(), old.c_str()) != 0)
            cannot_write(old, strerror(errno)); // some file systems have no second names
        if (rename(path_.c_str(), profile_.c_str()) != 0) cannot_write(profile_, strerror(errno));
        path_.clear();
    }

  private:
    std::string profile_, path_;
    int fd_ = -1;
};

} // namespace

void prepare_profile(const std::string &path)
{
    make_folder_of(path);
    new_file(path).write_and_close(std::string(4096, '\n')); // more than any profile has, since disks may be full
}

void write_profile(const std::string &path, const profile &values, const nlohmann::ordered_json &about)
{
    nlohmann::ordered_json all;
    all[format_key] = profile_format;
    all[about_key] = about;
    all.update(to_json(values));
    make_folder_of(path);
    new_file file(path);
    constexpr auto what_is_no_text = nlohmann::json::error_handler_t::replace; // as a host's name may be
    file.write_and_close(all.dump(2, ' ', false, what_is_no_text) + '\n');
    file.replace_profile();
}

nlohmann::ordered_json to_json(const profile &values)
{
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (path_kind path : all_paths)
        for (const parameter &p : parameters_of(path))
            all[std::string(name_of(path))][std::string(p.name)] = values.of(path).*p.value;
    return all;
}

} // namespace onesea::agent
