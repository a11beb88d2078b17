// SPDX-License-Identifier: Apache-2.0
// Segmented buffers.
//
//     source                                                          destination
//   buf: [0][1][2][3]   --- put with signal, in order: tail += 1 -->   buf: [0][1][2][3]   registered
//   its board: head     <-- atomic addition: head += 1 -------------   its board: tail
//
// Each end has a board, 64 bytes in its own heap, where the other counts up the one count that it cannot know. Ends
// find each other by an active message of each to the other, which says the number of the end between these two, in the
// order in which they were made, its sizes, its board, and its buffer. The same message says good-bye: then nothing of
// that end is under way any more. A board lives until both have said it; the buffer is the program's as soon as its own
// end is disconnected.
#include "acp/channel.h"

#include "errors.hpp"
#include "job.hpp"
#include "live.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>

namespace acp {
namespace {

constexpr int message_number = 1021; // below those that liblapi takes

struct board {
    std::uint64_t count; // destination's: tail; source's: head
};

enum class news : std::uint32_t { made, gone };

struct letter {
    news what;
    std::uint32_t from_source; // 1: who writes is the source
    std::uint64_t number;
    std::uint64_t segsize, segnum;
    sea_addr board, buffer;
};

// Which end of this process a letter is for: the other process, this end's side, its number.
using end_name = std::tuple<int, bool, std::uint64_t>;

struct offer {
    letter made{};
    bool here = false, gone = false;
};

} // namespace
} // namespace acp

struct segbufitem {
    int other = -1; // rank of onesea.h
    bool source = false;
    std::uint64_t number = 0;
    char *memory = nullptr;
    std::size_t segsize = 0, segnum = 0;
    sea_addr board = SEA_NULL, buffer = SEA_NULL; // of this end
    acp::letter there{};                          // the other end, once connected
    std::atomic<bool> connected{false};           // changed under the mutex
    bool good_bye = false;                        // has been told; for ever
    std::atomic<std::uint64_t> mine{0};           // source: tail; destination: head
    sea_counter arrived{0};                       // how many of `mine` have had their effect
    std::mutex mutex;                             // one call that changes it at a time
    acp::end_name name() const { return {other, source, number}; }
};

namespace acp {
namespace {

// What has come from others, for ends that exist and for ends that do not yet.
struct post_office {
    std::mutex mutex;
    std::map<end_name, offer> letters;
    std::map<std::pair<int, bool>, std::uint64_t> made; // how many ends so far with this process, as this side
    std::map<end_name, sea_addr> boards;                // of ends that are freed, whose other end may still count there
    sea_counter come{0};                                // letters so far
};

post_office &post()
{
    static auto &office = *new post_office; // never destroyed: programs may finalize at their exit
    return office;
}

live<segbufitem> &buffers()
{
    static auto &all = *new live<segbufitem>;
    return all;
}

// Runs where progress is made; takes no lock that is held during a call of onesea.h.
void *receive(const sea_am *message, sea_am_complete_fn *, void **)
{
    letter text;
    if (message->header_bytes != sizeof text) return nullptr;
    std::memcpy(&text, message->header, sizeof text);
    const end_name name{message->source, !text.from_source, text.number};
    {
        std::lock_guard lock(post().mutex);
        offer &o = post().letters[name];
        if (text.what == news::made) {
            o.made = text;
            o.here = true;
        } else {
            o.gone = true;
        }
    }
    std::uint64_t so_far = 0; // handlers run one at a time
    sea_counter_get(&post().come, &so_far);
    sea_counter_set(&post().come, so_far + 1);
    return nullptr;
}

offer letters_for(const segbufitem &b)
{
    std::lock_guard lock(post().mutex);
    auto place = post().letters.find(b.name());
    return place == post().letters.end() ? offer{} : place->second;
}

int tell(const segbufitem &b, news what)
{
    const letter text{what, b.source, b.number, b.segsize, b.segnum, b.board, b.buffer};
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_ORDERED;
    return sea_am_send(b.other, message_number, &text, sizeof text, nullptr, 0, &opts);
}

// Boards of freed ends whose other ends are gone too.
void sweep()
{
    std::vector<sea_addr> over;
    {
        post_office &p = post();
        std::lock_guard lock(p.mutex);
        for (auto b = p.boards.begin(); b != p.boards.end();) {
            auto l = p.letters.find(b->first);
            const bool gone = (l != p.letters.end() && l->second.gone) || sea_alive(std::get<0>(b->first)) != 1;
            if (!gone) {
                ++b;
                continue;
            }
            over.push_back(b->second);
            if (l != p.letters.end()) p.letters.erase(l);
            b = p.boards.erase(b);
        }
    }
    for (sea_addr a : over) sea_heap_free(a);
}

std::shared_ptr<segbufitem> find(const char *function, acp_segbuf_t handle)
{
    if (!ready(function)) return nullptr;
    auto found = buffers().find(handle);
    if (!found)
        report(function, "%p is no segmented buffer: it was never made, or has been freed",
               static_cast<void *>(handle));
    return found;
}

bool is_connected(const char *function, const segbufitem &b)
{
    if (!b.connected) report(function, "the buffer is not connected");
    return b.connected;
}

std::shared_ptr<segbufitem> find_connected(const char *function, acp_segbuf_t handle)
{
    auto found = find(function, handle);
    return found && is_connected(function, *found) ? found : nullptr;
}

std::uint64_t theirs(const segbufitem &b)
{
    auto *own = static_cast<board *>(sea_local(b.board));
    return own ? std::atomic_ref(own->count).load(std::memory_order_acquire) : 0;
}

std::uint64_t head(const segbufitem &b) { return b.source ? theirs(b) : b.mine.load(); }
std::uint64_t tail(const segbufitem &b) { return b.source ? b.mine.load() : theirs(b); }

// Programs ask in a loop, and the other end may need this processor.
void let_others_work()
{
    sea_poll();
    std::this_thread::yield();
}

acp_segbuf_t create(const char *function, int rank, void *buf, std::size_t segsize, std::size_t segnum, bool source)
{
    if (!ready(function)) return ACP_SEGBUF_NULL;
    const int other = checked_rank(function, rank);
    if (other < 0) return ACP_SEGBUF_NULL;
    if (other == job().me || !buf || segsize == 0 || segnum == 0 || segsize > (std::uint64_t(1) << 39) / segnum) {
        report(function, "%zu segments of %zu bytes at %p with rank %d (this one is %d)", segnum, segsize, buf, rank,
               job().acp_me);
        return ACP_SEGBUF_NULL;
    }
    sweep();
    auto made = std::make_shared<segbufitem>();
    made->other = other;
    made->source = source;
    made->memory = static_cast<char *>(buf);
    made->segsize = segsize;
    made->segnum = segnum;
    int s = sea_heap_alloc(job().me, sizeof(board), &made->board);
    if (s == SEA_OK) *static_cast<board *>(sea_local(made->board)) = {0};
    if (s == SEA_OK && !source) s = sea_register(buf, segsize * segnum, 0, &made->buffer);
    if (s == SEA_OK) {
        std::lock_guard lock(post().mutex);
        made->number = post().made[{other, source}]++;
    }
    if (s == SEA_OK) s = tell(*made, news::made);
    if (s == SEA_OK) return buffers().add(std::move(made));
    report_sea(function);
    if (made->buffer) sea_unregister(made->buffer);
    if (made->board) sea_heap_free(made->board);
    return ACP_SEGBUF_NULL;
}

// Sleeps until the other end has been made; false: its process has ended.
bool wait_for_other(const segbufitem &b)
{
    constexpr double look_again = 0.1; // seconds, for deaths
    for (;;) {
        std::uint64_t seen = 0;
        sea_counter_get(&post().come, &seen);
        if (letters_for(b).here) return true;
        if (sea_alive(b.other) != 1) return letters_for(b).here;
        sea_counter_wait(&post().come, seen + 1, look_again);
    }
}

void disconnect(segbufitem &b)
{
    if (b.good_bye) return;
    b.good_bye = true;
    if (b.connected) {
        b.connected = false;
        sea_counter_wait(&b.arrived, b.mine.load(), SEA_FOREVER); // adds also for what fails
    }
    if (b.buffer) {
        sea_unregister(b.buffer);
        b.buffer = SEA_NULL;
    }
    tell(b, news::gone); // to one that has ended it need not come
}

} // namespace

int open_segment_buffers() { return sea_am_register(message_number, receive, nullptr); }

void forget_segment_buffers()
{
    for (auto &b : buffers().take_all())
        if (b->buffer) sea_unregister(b->buffer);
    std::lock_guard lock(post().mutex);
    post().letters.clear();
    post().made.clear();
    post().boards.clear();
}

} // namespace acp

using namespace acp;

acp_segbuf_t acp_create_src_segbuf(int dst_rank, void *buf, size_t segsize, size_t segnum)
{
    return create("acp_create_src_segbuf", dst_rank, buf, segsize, segnum, true);
}

acp_segbuf_t acp_create_dst_segbuf(int src_rank, void *buf, size_t segsize, size_t segnum)
{
    return create("acp_create_dst_segbuf", src_rank, buf, segsize, segnum, false);
}

int acp_connect_segbuf(acp_segbuf_t segbuf)
{
    auto b = find("acp_connect_segbuf", segbuf);
    if (!b) return 1;
    std::lock_guard lock(b->mutex);
    if (b->connected) return 0;
    if (b->good_bye) {
        report("acp_connect_segbuf", "the buffer has been disconnected");
        return 1;
    }
    if (!wait_for_other(*b)) {
        report("acp_connect_segbuf", "rank %d has ended", rank_to_acp(b->other));
        return 1;
    }
    const offer found = letters_for(*b);
    if (found.made.segsize != b->segsize || found.made.segnum != b->segnum) {
        report("acp_connect_segbuf", "%zu segments of %zu bytes here, %llu of %llu at rank %d", b->segnum, b->segsize,
               static_cast<unsigned long long>(found.made.segnum), static_cast<unsigned long long>(found.made.segsize),
               rank_to_acp(b->other));
        return 1;
    }
    b->there = found.made;
    b->connected = true;
    return 0;
}

int acp_isconnected_segbuf(acp_segbuf_t segbuf)
{
    auto b = find("acp_isconnected_segbuf", segbuf);
    return b && b->connected && !letters_for(*b).gone && sea_alive(b->other) == 1 ? 0 : 1;
}

int acp_ready_segbuf(acp_segbuf_t segbuf)
{
    auto b = find("acp_ready_segbuf", segbuf);
    if (!b) return 1;
    std::lock_guard lock(b->mutex);
    if (!is_connected("acp_ready_segbuf", *b)) return 1;
    if (b->source || head(*b) >= tail(*b)) {
        report("acp_ready_segbuf", b->source ? "this is the source" : "there is no segment to give back");
        return 1;
    }
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.remote_counter = &b->arrived;
    b->mine.fetch_add(1);
    if (letters_for(*b).gone) { // nobody is there to be told
        std::atomic_ref(b->arrived.value).fetch_add(1);
        return 0;
    }
    if (sea_atomic(SEA_ATOMIC_ADD, b->there.board, 8, 1, 0, nullptr, &opts) == SEA_OK) return 0;
    b->mine.fetch_sub(1);
    report_sea("acp_ready_segbuf");
    return 1;
}

int acp_ack_segbuf(acp_segbuf_t segbuf)
{
    auto b = find("acp_ack_segbuf", segbuf);
    if (!b) return 1;
    std::lock_guard lock(b->mutex);
    if (!is_connected("acp_ack_segbuf", *b)) return 1;
    const std::uint64_t next = b->mine.load();
    if (!b->source || next - head(*b) >= b->segnum || letters_for(*b).gone) {
        report("acp_ack_segbuf", !b->source             ? "this is the destination"
                                 : letters_for(*b).gone ? "the destination has disconnected"
                                                        : "no segment is free at the destination");
        return 1;
    }
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT | SEA_ORDERED;
    opts.remote_counter = &b->arrived;
    const std::size_t at = std::size_t(next % b->segnum) * b->segsize;
    b->mine.store(next + 1);
    if (sea_put_signal(b->there.buffer + at, b->memory + at, b->segsize, b->there.board, 1, SEA_SIGNAL_ADD, &opts) ==
        SEA_OK)
        return 0;
    b->mine.store(next);
    report_sea("acp_ack_segbuf");
    return 1;
}

int acp_isready_segbuf(acp_segbuf_t segbuf)
{
    auto b = find_connected("acp_isready_segbuf", segbuf);
    if (!b) return 1;
    if (tail(*b) - head(*b) < b->segnum) return 0;
    let_others_work();
    return 1;
}

int acp_isacked_segbuf(acp_segbuf_t segbuf)
{
    auto b = find_connected("acp_isacked_segbuf", segbuf);
    if (!b) return 1;
    if (tail(*b) > head(*b)) return 0;
    let_others_work();
    return 1;
}

int64_t acp_query_segbuf_head(acp_segbuf_t segbuf)
{
    auto b = find("acp_query_segbuf_head", segbuf);
    return b && b->connected ? int64_t(head(*b)) : -1;
}

int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf)
{
    auto b = find("acp_query_segbuf_tail", segbuf);
    return b && b->connected ? int64_t(tail(*b)) : -1;
}

int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf)
{
    auto b = find("acp_query_segbuf_sent", segbuf);
    if (!b || !b->connected || !b->source) return -1;
    std::uint64_t sent = 0;
    sea_counter_get(&b->arrived, &sent);
    if (sent < b->mine.load()) sea_poll();
    return int64_t(sent);
}

int acp_disconnect_segbuf(acp_segbuf_t segbuf)
{
    auto b = find("acp_disconnect_segbuf", segbuf);
    if (!b) return 1;
    std::lock_guard lock(b->mutex);
    if (!is_connected("acp_disconnect_segbuf", *b)) return 1;
    disconnect(*b);
    return 0;
}

int acp_free_segbuf(acp_segbuf_t segbuf)
{
    if (!find("acp_free_segbuf", segbuf)) return 1;
    auto b = buffers().take(segbuf);
    if (!b) return 1;
    {
        std::lock_guard lock(b->mutex);
        disconnect(*b);
    }
    {
        std::lock_guard lock(post().mutex);
        post().boards[b->name()] = b->board;
    }
    sweep();
    return 0;
}
