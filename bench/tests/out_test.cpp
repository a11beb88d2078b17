// SPDX-License-Identifier: Apache-2.0
// The folder of --out.
#include "driver/options.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace bench;
namespace fs = std::filesystem;

namespace {

struct out : testing::Test {
    fs::path folder = fs::path(testing::TempDir()) / ("onesea-out-" + std::to_string(getpid()));
    options o;
    ~out() override { fs::remove_all(folder); }

    std::string refused(const std::function<void()> &call) const
    {
        try {
            call();
        } catch (const place_error &e) {
            return e.what();
        }
        return "";
    }

    std::string published(const std::string &picture)
    {
        o.out = folder;
        return refused([&] {
            publish({}, o, "name", [&] {
                return std::vector<std::pair<std::string, std::string>>{{picture, "<svg/>"}};
            });
        });
    }
};

// As a full disk, but only for this process.
struct no_room {
    rlimit before{};
    no_room()
    {
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit none{0, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &none);
    }
    ~no_room() { setrlimit(RLIMIT_FSIZE, &before); }
};

} // namespace

TEST_F(out, the_folder_is_made_and_left_empty)
{
    prepare_folder(folder / "a" / "b");
    EXPECT_TRUE(fs::is_empty(folder / "a" / "b"));
    prepare_folder("");
}

TEST_F(out, a_folder_that_cannot_be_is_told)
{
    EXPECT_NE(refused([] { prepare_folder("/dev/null/x"); }).find("'/dev/null/x': Not a directory"), std::string::npos);
    fs::create_directories(folder);
    std::ofstream(folder / "file");
    EXPECT_NE(refused([&] { prepare_folder(folder / "file"); }), "");
}

TEST_F(out, a_folder_without_room_is_told_beforehand)
{
    fs::create_directories(folder);
    {
        const no_room full;
        EXPECT_NE(refused([&] { prepare_folder(folder); }).find(folder.string()), std::string::npos);
    }
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(out, figures_and_pictures_are_written)
{
    prepare_folder(folder);
    EXPECT_EQ(published("p.svg"), "");
    EXPECT_TRUE(fs::exists(folder / "name.json"));
    std::stringstream picture;
    picture << std::ifstream(folder / "p.svg").rdbuf();
    EXPECT_EQ(picture.str(), "<svg/>");
}

TEST_F(out, what_finds_no_room_at_the_end_is_told_with_the_reason)
{
    prepare_folder(folder);
    fs::create_symlink("/dev/full", folder / "p.svg");
    EXPECT_EQ(published("p.svg"), "'" + (folder / "p.svg").string() + "' cannot be written: No space left on device");
}
