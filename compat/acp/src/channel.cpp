// SPDX-License-Identifier: Apache-2.0
// Channels. A request is an operation of onesea/channel.h. Freeing waits for this end's requests alone: the processes
// of a ring that each free the channel to the next one first must not wait for each other.
#include "acp/channel.h"

#include "errors.hpp"
#include "job.hpp"
#include "live.hpp"

#include <onesea/channel.h>

#include <algorithm>

struct chitem {
    sea_channel channel = SEA_CHANNEL_NULL;
    std::mutex mutex;
    std::vector<sea_op> open; // of requests that nobody has waited for
};

struct chreqitem {
    std::shared_ptr<chitem> channel;
    sea_op op = SEA_OP_NONE;
    sea_received received = {0, 0};
    bool frees = false;
};

namespace acp {
namespace {

constexpr std::size_t failed = std::size_t(-1);
constexpr double longest_end = 10; // seconds, in acp_reset(); the other processes are in it, too

live<chitem> &channels()
{
    static auto &all = *new live<chitem>; // never destroyed: programs may finalize at their exit
    return all;
}

live<chreqitem> &requests()
{
    static auto &all = *new live<chreqitem>;
    return all;
}

std::shared_ptr<chitem> find(const char *function, acp_ch_t ch)
{
    if (!ready(function)) return nullptr;
    auto found = channels().find(ch);
    if (!found) report(function, "%p is no channel: it was never made, or has been freed", static_cast<void *>(ch));
    return found;
}

template <class Start>
acp_request_t request(const char *function, acp_ch_t ch, Start &&start)
{
    auto channel = find(function, ch);
    if (!channel) return ACP_REQUEST_NULL;
    auto made = std::make_shared<chreqitem>();
    made->channel = channel;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &made->op;
    if (start(channel->channel, *made, opts) != SEA_OK) {
        report_sea(function);
        return ACP_REQUEST_NULL;
    }
    if (made->op != SEA_OP_NONE) {
        std::lock_guard lock(channel->mutex);
        channel->open.push_back(made->op);
    }
    return requests().add(std::move(made));
}

// Until all requests of this end are complete; they can still be waited for.
void drain(chitem &channel)
{
    std::vector<sea_op> open;
    {
        std::lock_guard lock(channel.mutex);
        open.swap(channel.open);
    }
    for (sea_op op : open) sea_wait_local(op, SEA_FOREVER); // one that was waited for meanwhile is complete
}

std::size_t wait_for(const char *function, acp_request_t handle)
{
    if (!ready(function)) return failed;
    auto r = requests().take(handle);
    if (!r) {
        report(function, "%p is no request: it was never made, or has been waited for", static_cast<void *>(handle));
        return failed;
    }
    if (r->frees) {
        drain(*r->channel);
        return 0;
    }
    const int s = sea_wait(r->op, SEA_FOREVER);
    if (s != SEA_OK) report_sea(function);
    std::lock_guard lock(r->channel->mutex);
    auto &open = r->channel->open;
    if (auto place = std::find(open.begin(), open.end(), r->op); place != open.end()) open.erase(place);
    return s == SEA_OK ? r->received.bytes : failed;
}

int close(const char *function, chitem &channel)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    const int s = sea_channel_close(channel.channel, &opts);
    if (s != SEA_OK && s != SEA_ERR_DEAD) report_sea(function);
    return s == SEA_ERR_DEAD ? SEA_OK : s;
}

} // namespace

// All processes close their ends, so that their requests end: before that a receive may write to its memory and to the
// request. Only those of a channel whose other end was never made do not; they stay, for the other end may yet come.
void forget_channels()
{
    static auto &endless = *new std::vector<std::shared_ptr<chreqitem>>;
    for (auto &channel : channels().take_all()) close("acp_reset", *channel);
    const double end = sea_time() + longest_end;
    std::size_t open = 0;
    for (auto &r : requests().take_all()) {
        if (r->frees || sea_wait(r->op, std::max(0.0, end - sea_time())) != SEA_ERR_TIMEOUT) continue;
        ++open;
        endless.push_back(std::move(r));
    }
    if (open > 0) report("acp_reset", "%zu requests of channels did not end in %g s", open, longest_end);
}

} // namespace acp

using namespace acp;

acp_ch_t acp_create_ch(int sender, int receiver)
{
    if (!ready("acp_create_ch")) return ACP_CH_NULL;
    const int from = checked_rank("acp_create_ch", sender);
    if (from < 0) return ACP_CH_NULL;
    const int to = checked_rank("acp_create_ch", receiver);
    if (to < 0) return ACP_CH_NULL;
    auto made = std::make_shared<chitem>();
    if (sea_channel_open(from, to, &made->channel) == SEA_OK) return channels().add(std::move(made));
    report_sea("acp_create_ch");
    return ACP_CH_NULL;
}

acp_request_t acp_nbsend_ch(acp_ch_t ch, void *buf, size_t size)
{
    return request("acp_nbsend_ch", ch, [=](sea_channel channel, chreqitem &, const sea_opts &opts) {
        return sea_channel_send(channel, buf, size, &opts);
    });
}

acp_request_t acp_nbrecv_ch(acp_ch_t ch, void *buf, size_t size)
{
    return request("acp_nbrecv_ch", ch, [=](sea_channel channel, chreqitem &r, const sea_opts &opts) {
        return sea_channel_receive(channel, buf, size, &r.received, &opts);
    });
}

acp_request_t acp_nbfree_ch(acp_ch_t ch)
{
    if (!find("acp_nbfree_ch", ch)) return ACP_REQUEST_NULL;
    auto channel = channels().take(ch);
    if (!channel || close("acp_nbfree_ch", *channel) != SEA_OK) return ACP_REQUEST_NULL;
    auto made = std::make_shared<chreqitem>();
    made->channel = std::move(channel);
    made->frees = true;
    return requests().add(std::move(made));
}

int acp_free_ch(acp_ch_t ch)
{
    acp_request_t r = acp_nbfree_ch(ch);
    return r != ACP_REQUEST_NULL && wait_for("acp_free_ch", r) == 0 ? 0 : -1;
}

size_t acp_wait_ch(acp_request_t request) { return wait_for("acp_wait_ch", request); }

int acp_waitall_ch(acp_request_t *request, int count, size_t *sizes)
{
    if (!ready("acp_waitall_ch")) return -1;
    if (count < 0 || (count > 0 && !request)) {
        report("acp_waitall_ch", "%d requests at %p", count, static_cast<void *>(request));
        return -1;
    }
    int result = 0;
    for (int i = 0; i < count; ++i) {
        const std::size_t bytes = request[i] == ACP_REQUEST_NULL ? 0 : wait_for("acp_waitall_ch", request[i]);
        request[i] = ACP_REQUEST_NULL;
        if (sizes) sizes[i] = bytes;
        if (bytes == failed) result = -1;
    }
    return result;
}
