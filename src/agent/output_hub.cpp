// SPDX-License-Identifier: Apache-2.0
#include "agent/output_hub.hpp"

#include "agent/hosts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace onesea::agent {
namespace {

constexpr std::size_t tail_bytes = 2048;

} // namespace

output_hub::output_hub(event_loop &loop, const job_request &request, const placement &placed)
    : loop_(loop), request_(request), placed_(placed),
      shown_(!request.quiet || request.output_directory.empty()), lines_{line_merger(placed.ranks.size() > 1 ||
                                                                                     request.tag.any()),
                                                                         line_merger(placed.ranks.size() > 1 ||
                                                                                     request.tag.any())},
      sinks_{{loop, STDOUT_FILENO}, {loop, STDERR_FILENO}}
{
    if (!request.output_directory.empty()) open_files();
    if (!shown_) tails_.resize(placed.ranks.size());
}

void output_hub::open_files()
{
    std::error_code error;
    std::filesystem::create_directories(request_.output_directory, error);
    if (error) throw request_error(fmt::format("--output {}: {}", request_.output_directory, error.message()));
    for (std::size_t r = 0; r < placed_.ranks.size(); ++r)
        if (std::string wrong = open_files_of(r); !wrong.empty()) throw request_error(wrong);
}

std::string output_hub::open_files_of(std::size_t rank)
{
    std::string wrong;
    for (const char *kind : {"out", "err"}) {
        const auto path = fmt::format("{}/rank.{}.{}", request_.output_directory, rank, kind);
        std::string why;
        auto file = output_file::open(loop_, path, &why);
        if (!file && wrong.empty()) wrong = fmt::format("--output: '{}' cannot be written: {}", path, why);
        if (file && begun_) file->empty();
        if (file) file->on_progress(progress_);
        if (file && !file->takes_all()) slow_files_.push_back(files_.size());
        files_.push_back(std::move(file));
    }
    return wrong;
}

void output_hub::begin()
{
    begun_ = true;
    for (const auto &file : files_)
        if (file) file->empty();
}

void output_hub::add_rank()
{
    for (line_merger &lines : lines_) lines.keep_lines_whole();
    if (!shown_) tails_.resize(placed_.ranks.size());
    if (files_.empty()) return;
    if (std::string wrong = open_files_of(placed_.ranks.size() - 1); file_error_.empty()) file_error_ = wrong;
}

std::string output_hub::error_of(std::size_t file) const
{
    const int error = files_[file] ? files_[file]->error() : 0;
    if (!error) return {};
    return fmt::format("output of rank {} is lost: {}: {}", file / 2, request_.output_directory, strerror(error));
}

// One that still has something to deliver stays open.
void output_hub::close_file(unsigned rank, int stream)
{
    if (files_.empty()) return;
    const std::size_t at = rank * 2 + unsigned(stream) - 1;
    if (file_error_.empty()) file_error_ = error_of(at);
    if (!files_[at] || files_[at]->queued() > 0) return;
    files_[at].reset();
    std::erase(slow_files_, at);
}

void output_hub::write_file(unsigned rank, int stream, std::string_view bytes)
{
    if (files_.empty()) return;
    const std::size_t at = rank * 2 + unsigned(stream) - 1;
    if (files_[at]) files_[at]->write(bytes);
    if (file_error_.empty()) file_error_ = error_of(at);
}

std::string output_hub::tag(unsigned rank) const
{
    const tag_choice &wanted = request_.tag;
    if (!wanted.any()) return {};
    std::string text;
    auto add = [&](std::string part) { text += (text.empty() ? "" : " ") + part; };
    if (wanted.rank) add(std::to_string(rank));
    if (wanted.host) add(placed_.nodes[placed_.ranks[rank].node].host);
    if (wanted.time) {
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        tm local;
        localtime_r(&now.tv_sec, &local);
        add(fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1'000'000));
    }
    return "[" + text + "] ";
}

void output_hub::take(unsigned rank, int stream, std::string_view bytes)
{
    if (bytes.empty())
        close_file(rank, stream);
    else
        write_file(rank, stream, bytes);
    if (!shown_) {
        if (stream == 1) return;
        std::string &tail = tails_[rank];
        tail += bytes;
        if (tail.size() > 2 * tail_bytes) tail.erase(0, tail.size() - tail_bytes);
        return;
    }
    line_merger &lines = lines_[stream - 1];
    if (bytes.empty())
        lines.finish(int(rank), tag(rank));
    else
        lines.add(int(rank), bytes, tag(rank));
    sinks_[stream - 1].write(lines.take());
}

void output_hub::say(std::string_view line) { show(fmt::format("onesea: {}\n", line)); }

void output_hub::show(std::string_view lines)
{
    lines_[1].add(0x7fffffff, lines, {});
    sinks_[1].write(lines_[1].take());
}

std::size_t output_hub::queued() const
{
    std::size_t bytes = sinks_[0].queued() + sinks_[1].queued();
    for (std::size_t at : slow_files_) bytes += files_[at]->queued();
    return bytes;
}

void output_hub::on_progress(const std::function<void()> &fn)
{
    progress_ = fn;
    for (byte_sink &s : sinks_) s.on_progress(fn);
    for (std::size_t at : slow_files_) files_[at]->on_progress(fn);
}

bool output_hub::reader_gone() const
{
    return std::any_of(std::begin(sinks_), std::end(sinks_), [](const byte_sink &s) { return s.error() == EPIPE; });
}

std::string output_hub::file_error() const
{
    if (!file_error_.empty()) return file_error_;
    for (std::size_t at : slow_files_)
        if (std::string lost = error_of(at); !lost.empty()) return lost;
    for (int i = 0; i < 2; ++i)
        if (int error = sinks_[i].error(); error && error != EPIPE)
            return fmt::format("output is lost: {}: {}", i ? "stderr" : "stdout", strerror(error));
    return {};
}

std::string output_hub::hidden_errors(unsigned rank) const
{
    if (tails_.empty()) return {};
    std::string_view text = tails_[rank];
    while (text.ends_with('\n')) text.remove_suffix(1);
    for (std::size_t at = text.size(), lines = 0; at-- > 0;)
        if (text[at] == '\n' && ++lines == 5) return std::string(text.substr(at + 1));
    return std::string(text);
}

} // namespace onesea::agent
