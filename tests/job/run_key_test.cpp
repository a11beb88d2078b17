// SPDX-License-Identifier: Apache-2.0
// The job's key is nowhere but in the memory of the job: in no argument, no environment, no file that others may read,
// no log and no output, in no form.
#include "command.hpp"

#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sodium.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace job_test {
namespace {

std::string contents(const fs::path &path, std::size_t most = 16 << 20)
{
    std::ifstream file(path, std::ios::binary);
    std::string text(most, '\0');
    file.read(text.data(), std::streamsize(most));
    text.resize(std::size_t(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

// The key, or the half of it, in every form in which somebody might write it down.
class forms_of {
  public:
    explicit forms_of(const std::string &key)
    {
        for (const std::string &part : {key.substr(0, 16), key.substr(16)}) {
            forms_.push_back(part);
            std::string hex;
            for (char c : part) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
            forms_.push_back(hex);
            std::transform(hex.begin(), hex.end(), hex.begin(), [](char c) { return char(toupper(c)); });
            forms_.push_back(hex);
        }
        for (int kind : {sodium_base64_VARIANT_ORIGINAL_NO_PADDING, sodium_base64_VARIANT_URLSAFE_NO_PADDING}) {
            char text[64];
            sodium_bin2base64(text, sizeof text, reinterpret_cast<const unsigned char *>(key.data()), key.size(), kind);
            forms_.push_back(std::string(text).substr(0, 20));
        }
    }
    bool in(const std::string &text) const
    {
        for (const std::string &form : forms_)
            if (text.find(form) != text.npos) return true;
        return false;
    }

  private:
    std::vector<std::string> forms_;
};

// Regular files below a folder that anybody may read and that were written since, without following links.
std::vector<fs::path> open_to_all(const fs::path &folder, time_t since)
{
    std::vector<fs::path> found;
    std::error_code error;
    auto walk = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
        struct stat s {};
        if (walk.depth() > 3) walk.disable_recursion_pending();
        if (lstat(walk->path().c_str(), &s) == 0 && S_ISREG(s.st_mode) && (s.st_mode & S_IROTH) && s.st_mtime >= since)
            found.push_back(walk->path());
    }
    return found;
}

// Runs it as nobody, in a process of its own; what it returned, or -1.
int as_nobody(const std::function<int()> &what)
{
    pid_t child = fork();
    if (child == 0) _exit(setgid(65534) == 0 && setuid(65534) == 0 ? what() : 99);
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class run_key : public testing::Test {
  protected:
    scratch folder;
    time_t started = time(nullptr) - 1;
    command job{{"run", "-n", "3", "--nodes", "2", ONESEA_KEY_HOLDER, folder.path("key")}, {}, {"ONESEA_LOG=trace"}};

    std::string wait_for_key()
    {
        EXPECT_TRUE(job.wait_for("talking"));
        std::string key = folder.read("key");
        EXPECT_EQ(key.size(), 32u);
        EXPECT_NE(key, std::string(32, '\0'));
        return key;
    }
};

} // namespace

TEST_F(run_key, is_in_no_argument_environment_or_output)
{
    const forms_of key(wait_for_key());
    auto pids = job.marked();
    EXPECT_GE(pids.size(), 5u) << "launcher, agents, ranks";
    for (auto &entry : fs::directory_iterator("/proc")) { // of anybody: also what was started for the job
        if (!isdigit(entry.path().filename().c_str()[0])) continue;
        EXPECT_FALSE(key.in(contents(entry.path() / "cmdline"))) << entry.path();
        EXPECT_FALSE(key.in(contents(entry.path() / "environ"))) << entry.path();
        EXPECT_FALSE(key.in(contents(entry.path() / "comm"))) << entry.path();
    }
    for (pid_t agent : job.agents()) kill(agent, SIGKILL); // there is more to say about an end like that
    auto o = job.wait();
    EXPECT_NE(o.status, 0);
    EXPECT_FALSE(o.err.empty());
    EXPECT_FALSE(key.in(o.out));
    EXPECT_FALSE(key.in(o.err));
}

TEST_F(run_key, is_in_no_file_that_others_may_read)
{
    const forms_of key(wait_for_key());
    for (const char *place : {"/dev/shm", "/tmp", "/var/tmp", "/run"})
        for (const fs::path &file : open_to_all(place, started)) EXPECT_FALSE(key.in(contents(file))) << file;
    for (pid_t pid : job.marked()) // files that have no name any more, and those elsewhere
        for (auto &entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
            struct stat s {};
            std::error_code error;
            std::string target = fs::read_symlink(entry.path(), error);
            if (stat(entry.path().c_str(), &s) != 0 || !S_ISREG(s.st_mode) || target.starts_with("/memfd:")) continue;
            EXPECT_FALSE((s.st_mode & S_IROTH) && key.in(contents(entry.path()))) << target;
        }
}

TEST_F(run_key, cannot_be_fetched_from_the_processes_by_another_user)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
    wait_for_key();
    for (pid_t pid : job.marked()) {
        if (pid == getpid()) continue;
        int opened = as_nobody([&] {
            int n = 0;
            for (const char *name : {"mem", "environ", "maps"})
                n += open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY) >= 0;
            for (int fd = 0; fd < 64; ++fd) n += open(fmt::format("/proc/{}/fd/{}", pid, fd).c_str(), O_RDONLY) >= 0;
            return n;
        });
        EXPECT_EQ(opened, 0) << "process " << pid;
    }
    EXPECT_EQ(as_nobody([&] { return open(folder.path("key").c_str(), O_RDONLY) >= 0 ? 1 : 0; }), 0);
}

// What these tests look with must see what is there.
TEST(run_key_forms, are_found_where_they_are)
{
    std::string key = "0123456789abcdefghijklmnopqrstuv";
    forms_of forms(key);
    EXPECT_TRUE(forms.in("x" + key + "y"));
    EXPECT_TRUE(forms.in("key 30313233343536373839616263646566 end"));
    EXPECT_TRUE(forms.in("MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY"));
    EXPECT_FALSE(forms.in("0123456789abcde-fghijklmnopqrstu"));
}

} // namespace job_test
