// SPDX-License-Identifier: Apache-2.0
// Workspaces: equal parts in the heaps of consecutive processes. The description has a line for each part, as programs
// may read it; so it is as long as the processes that have one.
#include "acp.h"

#include "errors.hpp"
#include "job.hpp"
#include "live.hpp"

#include <algorithm>
#include <climits>

namespace acp {
namespace {

struct workspace : acp_wsditem {
    std::vector<acp_ga_t> addresses;
    std::vector<int> owners, lengths;
};

std::size_t first_process = 0, bytes_each = 1 << 20; // set by all processes alike

live<acp_wsditem> &workspaces()
{
    static auto &all = *new live<acp_wsditem>; // never destroyed: programs may finalize at their exit
    return all;
}

std::shared_ptr<acp_wsditem> find(const char *function, acp_wsd_t wsd)
{
    if (!ready(function)) return nullptr;
    auto found = workspaces().find(wsd);
    if (!found)
        report(function, "%p is no workspace: it was never made, or has been destroyed", static_cast<void *>(wsd));
    return found;
}

// How it is divided: the same at all processes.
std::shared_ptr<workspace> plan(std::size_t size)
{
    const auto n = std::size_t(job().procs);
    auto w = std::make_shared<workspace>();
    static_cast<acp_wsditem &>(*w) = {};
    w->size_ws = size;
    w->size_default = std::max(bytes_each, (size / n + 8) / 8 * 8);
    if (size <= bytes_each * n) w->size_default = bytes_each;
    w->ngas = (size + w->size_default - 1) / w->size_default;
    w->size_remainder = size % w->size_default;
    for (std::size_t i = 0; i < w->ngas; ++i) {
        w->owners.push_back(int((first_process + i) % n));
        w->lengths.push_back(int(std::min(w->size_default, size - i * w->size_default)));
    }
    return w;
}

// This process's part; SEA_OK also if it has none.
int make_own_part(workspace &w)
{
    const auto place = std::find(w.owners.begin(), w.owners.end(), job().acp_me);
    if (place == w.owners.end()) return SEA_OK;
    const auto bytes = std::size_t(w.lengths[std::size_t(place - w.owners.begin())]);
    if (int s = sea_heap_alloc(job().me, bytes, &w.ga_data)) return s;
    w.key_data = w.ga_data;
    w.data = sea_local(w.ga_data);
    make_zero(static_cast<std::byte *>(w.data), bytes);
    return SEA_OK;
}

// All hear whether all have succeeded, with the same sizes. Who has failed must come as well: the others wait for it.
int agree(std::size_t size, int status)
{
    const std::uint64_t mine[3] = {size, bytes_each, first_process};
    std::uint64_t own[7] = {status != SEA_OK}, all[7];
    for (std::size_t i = 0; i < 3; ++i) {
        own[1 + i] = mine[i];
        own[4 + i] = ~mine[i];
    }
    if (int s = sea_allreduce(SEA_TEAM_WORLD, own, all, 7, SEA_UINT64, SEA_MAX)) return s;
    if (!std::equal(own + 1, own + 7, all + 1)) return SEA_ERR_INVALID;
    return all[0] ? SEA_ERR_MEMORY : SEA_OK;
}

// Tells all where the parts are.
int exchange(workspace &w)
{
    std::vector<acp_ga_t> parts(std::size_t(job().procs));
    if (int s = sea_allgather(SEA_TEAM_WORLD, &w.ga_data, parts.data(), sizeof parts[0])) return s;
    for (int owner : w.owners) w.addresses.push_back(parts[std::size_t(rank_from_acp(owner))]);
    w.gas = w.addresses.data();
    w.procs = w.owners.data();
    w.sizes = w.lengths.data();
    return SEA_OK;
}

int move(const char *function, acp_wsd_t wsd, acp_ga_t ga, std::size_t size, std::size_t offset, bool write)
{
    auto w = find(function, wsd);
    if (!w) return 1;
    if (offset > w->size_ws || size > w->size_ws - offset) {
        report(function, "%zu bytes at %zu of a workspace of %zu bytes", size, offset, w->size_ws);
        return 1;
    }
    std::vector<sea_op> ops;
    int status = SEA_OK;
    for (std::size_t done = 0; done < size && status == SEA_OK;) {
        const std::size_t part = (offset + done) / w->size_default, into = (offset + done) % w->size_default;
        const std::size_t bytes = std::min(size - done, w->size_default - into);
        const sea_addr there = w->gas[part] + into, here = address_of(ga) + done;
        sea_op op = SEA_OP_NONE;
        sea_opts opts = SEA_OPTS_INIT;
        opts.op = &op;
        status = sea_copy(write ? there : here, write ? here : there, bytes, &opts);
        if (status == SEA_OK) ops.push_back(op);
        done += bytes;
    }
    if (status != SEA_OK) report_sea(function);
    const int waited = sea_wait_all(ops.data(), int(ops.size()), SEA_FOREVER);
    if (waited != SEA_OK && status == SEA_OK) report_sea(function);
    return status == SEA_OK && waited == SEA_OK ? 0 : 1;
}

} // namespace

void forget_workspaces() { workspaces().take_all(); }

} // namespace acp

using namespace acp;

int acp_setparams_ws(size_t proc_start, size_t size_default)
{
    if (!ready("acp_setparams_ws")) return -1;
    if (proc_start >= std::size_t(job().procs) || size_default == 0 || size_default > INT_MAX) {
        report("acp_setparams_ws", "first process %zu of %d, %zu bytes each", proc_start, job().procs, size_default);
        return -1;
    }
    first_process = proc_start;
    bytes_each = size_default;
    return 0;
}

acp_wsd_t acp_create_ws(size_t size)
{
    const char *const function = "acp_create_ws";
    if (!ready(function)) return ACP_WSD_NULL;
    const auto n = std::size_t(job().procs);
    std::shared_ptr<workspace> w;
    int s = SEA_ERR_INVALID;
    if (size == 0 || size / n >= INT_MAX - 8) {
        report(function, "a workspace of %zu bytes on %zu processes", size, n);
    } else {
        w = plan(size);
        s = make_own_part(*w);
        if (s != SEA_OK) report_sea(function);
    }
    const bool told = s != SEA_OK;
    s = agree(size, s);
    if (s == SEA_OK && (s = exchange(*w)) == SEA_OK)
        return workspaces().add_readable(std::shared_ptr<acp_wsditem>(w, w.get()));
    if (s == SEA_ERR_INVALID && !told)
        report(function, "the processes ask for different workspaces, here %zu bytes", size);
    else if (s == SEA_ERR_MEMORY && !told)
        report(function, "another process has no room for its part");
    else if (!told)
        report_sea(function);
    if (w && w->ga_data) sea_heap_free(w->ga_data);
    return ACP_WSD_NULL;
}

void acp_destroy_ws(acp_wsd_t WSD)
{
    if (!ready("acp_destroy_ws")) return;
    find("acp_destroy_ws", WSD); // a wrong one is told, and still the others wait for this process
    if (sea_barrier(SEA_TEAM_WORLD) != SEA_OK) report_sea("acp_destroy_ws");
    if (auto w = workspaces().take(WSD); w && w->ga_data) sea_heap_free(w->ga_data);
}

int acp_read_ws(acp_wsd_t WSD, acp_ga_t ga, size_t size, size_t offset)
{
    return move("acp_read_ws", WSD, ga, size, offset, false);
}

int acp_write_ws(acp_wsd_t WSD, const acp_ga_t ga, size_t size, size_t offset)
{
    return move("acp_write_ws", WSD, ga, size, offset, true);
}
