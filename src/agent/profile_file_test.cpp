// SPDX-License-Identifier: Apache-2.0
#include "agent/profile_file.hpp"

#include "agent/hosts.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

std::string refused(const std::string &text)
{
    try {
        parse_profile(text, "f.json");
    } catch (const request_error &e) {
        EXPECT_EQ(e.code, 125);
        return e.what();
    }
    return "accepted";
}

std::string with(const std::string &rest) { return R"({"onesea_profile": 1, )" + rest + "}"; }

struct folder {
    std::string path = testing::TempDir() + "onesea_profile_" + std::to_string(getpid());
    folder() { std::filesystem::create_directories(path); }
    ~folder() { std::filesystem::remove_all(path); }
};

TEST(profile_file, what_is_left_out_has_its_default)
{
    EXPECT_EQ(parse_profile(R"({"onesea_profile": 1})", "f"), profile{});
    profile p = parse_profile(with(R"("about": {"any": [1]}, "ethernet": {"batch": 64}, "shm": {})"), "f");
    EXPECT_EQ(p.of(path_kind::ethernet).batch, 64u);
    p.of(path_kind::ethernet).batch = path_tuning{}.batch;
    EXPECT_EQ(p, profile{});
}

TEST(profile_file, what_is_wrong_is_named_with_its_range)
{
    EXPECT_EQ(refused(with(R"("shm": {"window": 5})")), "profile 'f.json': shm.window: 5 is not in 16384..1048576");
    EXPECT_NE(refused(with(R"("shm": {"window": 20000})")).find("shm.window: 20000 is not a power of two"),
              std::string::npos);
    EXPECT_EQ(refused(with(R"("loopback": {"fragmnet": 5000})")),
              "profile 'f.json': 'loopback.fragmnet' is unknown; loopback has fragment, eager, eager_message, batch, "
              "window");
    EXPECT_NE(refused(with(R"("shm": {"batch": 5000})")).find("'shm.batch' is unknown"), std::string::npos);
    EXPECT_NE(refused(with(R"("lo": {})")).find("'lo' is unknown; there are shm, loopback, ethernet"),
              std::string::npos);
    for (const char *value : {"-1", "1.5", "\"9000\"", "null", "1e400", "99999999999999999999"})
        EXPECT_NE(refused(with(R"("ethernet": {"fragment": )" + std::string(value) + "}")), "accepted") << value;
    EXPECT_NE(refused(with(R"("ethernet": {"fragment": -1})")).find("ethernet.fragment is -1"), std::string::npos);
    EXPECT_NE(refused(with(R"("ethernet": 7)")).find("'ethernet'"), std::string::npos);
}

TEST(profile_file, what_is_no_profile_is_told)
{
    for (const char *text : {"", "{", "[]", "7", "{\"shm\": {}}"})
        EXPECT_NE(refused(text).find("f.json"), std::string::npos) << text;
    EXPECT_NE(refused(R"({"onesea_profile": 2})").find("this version reads 1"), std::string::npos);
}

TEST(profile_file, comes_back_as_it_was_and_keeps_the_old_one)
{
    folder f;
    const std::string path = f.path + "/made/for/it/profile.json";
    profile first, second;
    first.of(path_kind::loopback).window = 123456;
    second.of(path_kind::shm).window = 1u << 20;
    write_profile(path, first, {{"host", "here"}});
    EXPECT_FALSE(std::filesystem::exists(path + ".old"));
    EXPECT_EQ(read_profile(path), first);
    write_profile(path, second, {});
    EXPECT_EQ(read_profile(path), second);
    EXPECT_EQ(read_profile(path + ".old"), first);
    EXPECT_EQ(2, std::distance(std::filesystem::directory_iterator(f.path + "/made/for/it"), {}));
    EXPECT_EQ(profile_from(nlohmann::json(to_json(second))), second);
}

std::string text_of(const std::string &path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(profile_file, writes_to_nobody_elses_file)
{
    folder f;
    const std::string path = f.path + "/p.json", other = f.path + "/other",
                      guess = fmt::format("{}.{}.0.part", path, getpid());
    std::ofstream(other) << "theirs";
    for (const std::string &link : {path + ".part", path + ".old", guess}) std::filesystem::create_symlink(other, link);
    prepare_profile(path);
    write_profile(path, {}, {});
    write_profile(path, {}, {});
    EXPECT_EQ("theirs", text_of(other));
    EXPECT_EQ(read_profile(path), profile{});
    EXPECT_FALSE(std::filesystem::is_symlink(path + ".old"));
    EXPECT_EQ(read_profile(path + ".old"), profile{});
    EXPECT_TRUE(std::filesystem::is_symlink(guess));
}

TEST(profile_file, what_is_deep_or_has_no_end_is_told)
{
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    EXPECT_NE(refused(R"({"onesea_profile": )" + deep + "}").find("\"onesea_profile\" is a list;"), std::string::npos);
    EXPECT_NE(refused(with(R"("shm": {"eager": )" + deep + "}")).find("shm.eager is a list, not"), std::string::npos);
    EXPECT_NE(refused(with(R"("shm": {"eager": {"a": 1}})")).find("shm.eager is an object, not"), std::string::npos);
    EXPECT_LT(refused(with(R"("shm": {"eager": ")" + std::string(100'000, 'a') + "\"}")).size(), 200u);
    try {
        read_profile("/dev/zero");
        FAIL();
    } catch (const request_error &e) {
        EXPECT_STREQ(e.what(), "the profile '/dev/zero' has more than 16 MiB");
    }
}

TEST(profile_file, is_found_where_users_keep_their_settings)
{
    folder f;
    const std::string file = f.path + "/onesea/profile.json";
    setenv("XDG_CONFIG_HOME", f.path.c_str(), 1);
    EXPECT_EQ(usual_profile(), file);
    EXPECT_EQ(choose_profile("").file, "");
    profile mine;
    mine.of(path_kind::shm).eager = 0;
    write_profile(file, mine, {});
    EXPECT_EQ(choose_profile("").values, mine);
    EXPECT_EQ(choose_profile("").file, file);
    EXPECT_EQ(choose_profile("none").values, profile{});
    EXPECT_THROW(choose_profile(f.path + "/absent.json"), request_error);
    EXPECT_THROW(choose_profile(f.path), request_error) << "a folder";
    setenv("XDG_CONFIG_HOME", "relative", 1); // as the specification says, it is ignored
    setenv("HOME", "/h", 1);
    EXPECT_EQ(usual_profile(), "/h/.config/onesea/profile.json");
    unsetenv("XDG_CONFIG_HOME");
}

TEST(profile_file, where_it_cannot_be_written_is_told_beforehand)
{
    folder f;
    prepare_profile(f.path + "/new/profile.json");
    EXPECT_TRUE(std::filesystem::is_empty(f.path + "/new"));
    EXPECT_THROW(prepare_profile("/dev/null/profile.json"), request_error);
    EXPECT_THROW(prepare_profile("/dev/null"), request_error);
    EXPECT_THROW(prepare_profile(f.path + "/new"), request_error);
    EXPECT_THROW(write_profile(f.path + "/new", {}, {}), request_error);
    EXPECT_FALSE(std::filesystem::exists(f.path + "/new.part"));
    {
        signal(SIGXFSZ, SIG_IGN);
        rlimit before;
        ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
        const rlimit none{0, before.rlim_max}; // as a full disk, but only for this process
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
        EXPECT_THROW(prepare_profile(f.path + "/new/profile.json"), request_error);
        setrlimit(RLIMIT_FSIZE, &before);
    }
    EXPECT_TRUE(std::filesystem::is_empty(f.path + "/new"));
    EXPECT_THROW(write_profile("/dev/null/profile.json", {}, {}), request_error);
}

TEST(profile_file, an_empty_one_is_told_to_be_empty)
{
    try {
        parse_profile("", "p.json");
        FAIL();
    } catch (const request_error &e) {
        EXPECT_STREQ(e.what(), "profile 'p.json': it is empty");
    }
}

} // namespace
} // namespace onesea::agent
