// SPDX-License-Identifier: Apache-2.0
#include "agent/output_file.hpp"

#include "base/log.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

bool is_pipe(const std::string &path)
{
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

} // namespace

std::unique_ptr<output_file> output_file::open(event_loop &loop, const std::string &path, std::string *why)
{
    // To wait for somebody who reads a pipe by name would be no part of a job.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0) {
        const int error = errno;
        *why = error == ENXIO && is_pipe(path) ? "nobody reads it" : strerror(error);
        return nullptr;
    }
    std::unique_ptr<output_file> file(new output_file(fd));
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) file->sink_ = std::make_unique<byte_sink>(loop, fd);
    return file;
}

output_file::~output_file()
{
    sink_.reset();
    close(fd_);
}

void output_file::empty()
{
    if (!sink_ && ftruncate(fd_, 0) != 0)
        log(level::warn, "what a file held before cannot be removed: {}", strerror(errno));
}

void output_file::write(std::string_view bytes)
{
    if (sink_) return sink_->write(bytes);
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return void(error_ = errno);
        bytes.remove_prefix(std::size_t(n));
    }
}

void output_file::on_progress(const std::function<void()> &fn)
{
    if (sink_) sink_->on_progress(fn);
}

} // namespace onesea::agent
