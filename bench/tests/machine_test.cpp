// SPDX-License-Identifier: Apache-2.0
#include "driver/machine.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace {

struct made_up_system {
    std::string folder = (std::filesystem::temp_directory_path() / "onesea-machine-XXXXXX").string();
    made_up_system() { EXPECT_NE(mkdtemp(folder.data()), nullptr); }
    ~made_up_system() { std::filesystem::remove_all(folder); }
    made_up_system(const made_up_system &) = delete;
    made_up_system &operator=(const made_up_system &) = delete;
    void file(const std::string &name, const std::string &text) const
    {
        const auto path = std::filesystem::path(folder + name);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    void cache(int index, const char *level, const char *size) const
    {
        const std::string at = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
        file(at + "/level", std::string(level) + "\n");
        file(at + "/size", std::string(size) + "\n");
    }
};

TEST(machine, is_told_by_its_processors_caches_and_kernel)
{
    const made_up_system s;
    s.file("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 207\nmodel name\t: A Processor: fast\n\nmodel name\t: other\n");
    s.file("/proc/sys/kernel/osrelease", "6.18.44-a-name\n");
    s.cache(0, "1", "48K");
    s.cache(1, "2", "1280K");
    s.cache(2, "3", "307200K");
    EXPECT_EQ(bench::machine_text(s.folder, 2),
              "A Processor: fast, 2 processors, L2 1280 KB, L3 300 MB, Linux 6.18.44");
    EXPECT_EQ(bench::machine_text(s.folder, 1), "A Processor: fast, 1 processor, L2 1280 KB, L3 300 MB, Linux 6.18.44");
}

TEST(machine, leaves_out_what_is_not_known)
{
    const made_up_system s;
    EXPECT_EQ(bench::machine_text(s.folder, 0), "");
    s.file("/proc/cpuinfo", "processor\t: 0\nmodel name\n");
    s.cache(0, "2", "much");
    s.file("/proc/sys/kernel/osrelease", "5.10\n");
    EXPECT_EQ(bench::machine_text(s.folder, 4), "4 processors, Linux 5.10");
}

TEST(machine, this_one_has_a_kernel_and_a_processor)
{
    const std::string text = bench::machine_text();
    EXPECT_NE(text.find(", Linux "), std::string::npos) << text;
    EXPECT_NE(text.find(" processor"), std::string::npos) << text;
}

} // namespace
