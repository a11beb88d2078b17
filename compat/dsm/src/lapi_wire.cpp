// SPDX-License-Identifier: Apache-2.0
// The DSM on LAPI, as in the paper: READ is a Get that is waited for, WRITE a Put and a wait for its origin counter,
// WRITE_B a Put that is waited for to its end. Counters are local variables, so any number of threads may be under way.
// WRITEs of middle size to other machines go through the outbox, which waits later.
//
// What is waited for to its end goes through the calls of LAPI_Onesea_: a counter adds also for what has failed, and
// the error handler hears of it later, in another thread. Of WRITEs it has heard when a fence returns.
//
// Every node has one piece of memory that its machine shares. It begins with the control block, the part follows; the
// beginnings are exchanged by LAPI_Address_init() and kept in a table.
//
//     +----------------+-----------------------------+
//     | control block  | the part: addresses 0, 1 .. |
//     +----------------+-----------------------------+
//
// The control block holds the words of the locks (lock_queue.hpp).
#include "below.hpp"
#include "lock_queue.hpp"
#include "outbox.hpp"
#include "wire.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <lapi.h>

namespace dsm {
namespace {

// Errors of operations that no call has told, by the node that they went to; the first of each. LAPI's handlers have no
// context, and may run until the process has ended: never destroyed.
std::atomic<int> *errors = nullptr;
std::atomic<int> errors_nodes{0};
std::atomic<bool> any_error{false};

void on_error(lapi_handle_t *, int *code, lapi_err_t *, int *, int *other)
{
    if (*other < 0 || *other >= errors_nodes.load(std::memory_order_acquire)) return;
    int none = LAPI_SUCCESS;
    errors[*other].compare_exchange_strong(none, *code);
    any_error = true;
}

int take_error(int node) { return errors[node].exchange(LAPI_SUCCESS); }

struct alignas(64) control_block {
    lock_table locks;
};

class lapi_wire : public wire {
  public:
    lapi_wire(lapi_handle_t handle, int node, int nodes) : handle_(handle), node_(node), nodes_(nodes) {}

    int node() const override { return node_; }
    int nodes() const override { return nodes_; }
    char *memory() const override { return own_ + sizeof(control_block); }

    int allocate(std::uint64_t bytes) override
    {
        void *memory = nullptr;
        const std::uint64_t all = sizeof(control_block) + bytes;
        if (all < bytes || LAPI_Onesea_shared_alloc(handle_, all, &memory) != LAPI_SUCCESS)
            return fail(DSM_ERR_MEMORY, "node {} cannot give {} bytes", node_, bytes);
        std::memset(memory, 0, all);
        own_ = static_cast<char *>(memory);
        return DSM_OK;
    }

    int exchange(std::uint64_t mine, std::vector<std::uint64_t> &all) override
    {
        std::vector<lapi_long_t> words(static_cast<std::size_t>(nodes_));
        if (int code = LAPI_Address_init64(handle_, mine, words.data())) return fail_below(code, "exchange");
        all.assign(words.begin(), words.end());
        return DSM_OK;
    }

    int connect() override
    {
        std::vector<void *> begins(static_cast<std::size_t>(nodes_));
        if (int code = LAPI_Address_init(handle_, own_, begins.data())) return fail_below(code, "address exchange");
        std::vector<lock_table *> locks;
        for (void *begin : begins) {
            begins_.push_back(static_cast<char *>(begin));
            locks.push_back(&static_cast<control_block *>(begin)->locks);
        }
        queue_.open(handle_, node_, std::move(locks));
        return find_near_tasks();
    }

    int read(int node, std::uint64_t address, void *data, std::uint64_t length) override
    {
        const int code = LAPI_Onesea_get(handle_, task(node), length, place(node, address), data);
        return tell(code, "READ", node, address, length);
    }

    int write(int node, std::uint64_t address, const void *data, std::uint64_t length) override
    {
        if (length >= outbox::shortest && length <= outbox::longest && !near_[static_cast<std::size_t>(node)])
            if (const auto code = outbox_.put(handle_, task(node), place(node, address), data, length))
                return tell_call(*code, node, address, length);
        lapi_cntr_t origin{};
        int code = LAPI_Put(handle_, task(node), length, place(node, address), const_cast<void *>(data), nullptr,
                            &origin, nullptr);
        if (code == LAPI_SUCCESS) code = LAPI_Waitcntr(handle_, &origin, 1, nullptr);
        return tell_call(code, node, address, length);
    }

    int write_b(int node, std::uint64_t address, const void *data, std::uint64_t length) override
    {
        const int code =
            LAPI_Onesea_put(handle_, task(node), length, place(node, address), const_cast<void *>(data), nullptr);
        return tell(code, "WRITE_B", node, address, length);
    }

    int fetch_add(int node, std::uint64_t address, std::int64_t add, std::int64_t &old) override
    {
        long long value = add, before = 0;
        const int code = update(FETCH_AND_ADD, node, place(node, address), &value, before);
        old = before;
        return tell(code, "FETCH_ADD", node, address, sizeof add);
    }

    int fence() override
    {
        if (int code = LAPI_Fence(handle_)) return fail_below(code, "fence");
        return told_late("fence");
    }

    // What is told here instead of the lock leaves it to the others.
    int acquire(int lock) override
    {
        if (int status = queue_.acquire(lock)) return status;
        const int late = told_late("lock");
        if (late == DSM_OK) return DSM_OK;
        const auto words = words_of_thread();
        queue_.release(lock);
        words_of_thread() = words;
        return late;
    }

    int release(int lock) override
    {
        const int late = fence();
        const auto words = words_of_thread();
        if (int status = queue_.release(lock)) return status;
        words_of_thread() = words;
        return late;
    }

    int barrier() override
    {
        if (int code = LAPI_Gfence(handle_)) return fail_below(code, "barrier");
        return told_late("barrier");
    }

    int close() override
    {
        int code = LAPI_SUCCESS;
        queue_.close();
        if (own_) code = LAPI_Onesea_shared_free(handle_, own_);
        const int end = LAPI_Term(handle_);
        if (code == LAPI_SUCCESS) code = end;
        return code == LAPI_SUCCESS ? told_late("end") : fail_below(code, "end");
    }

  private:
    static uint task(int node) { return static_cast<uint>(node); }

    char *place(int node, std::uint64_t address) const
    {
        return begins_[static_cast<std::size_t>(node)] + sizeof(control_block) + address;
    }

    // Those that share this machine's memory.
    int find_near_tasks()
    {
        near_.assign(static_cast<std::size_t>(nodes_), false);
        int count = 0;
        int code = LAPI_Qenv(handle_, QUERY_SHM_NUM_TASKS, &count);
        std::vector<int> tasks(static_cast<std::size_t>(count > 0 ? count : 1));
        if (code == LAPI_SUCCESS && count > 0) code = LAPI_Qenv(handle_, QUERY_SHM_TASKS, tasks.data());
        if (code != LAPI_SUCCESS) return fail_below(code, "tasks of this machine");
        for (int i = 0; i < count; i++) near_.at(static_cast<std::size_t>(tasks[static_cast<std::size_t>(i)])) = true;
        return DSM_OK;
    }

    int update(RMW_ops_t op, int node, void *word, long long *operand, long long &before) const
    {
        return LAPI_Onesea_rmw64(handle_, op, task(node), static_cast<long long *>(word), operand, &before);
    }

    // Of a WRITE: what goes wrong after the call is told later.
    int tell_call(int code, int node, std::uint64_t address, std::uint64_t length)
    {
        if (code == LAPI_SUCCESS) [[likely]]
            return DSM_OK;
        return tell(code, "WRITE", node, address, length);
    }

    // Of an access whose end has been waited for.
    int tell(int code, const char *what, int node, std::uint64_t address, std::uint64_t length)
    {
        if (code == LAPI_SUCCESS && any_error.load(std::memory_order_relaxed)) code = take_error(node);
        if (code == LAPI_SUCCESS) [[likely]]
            return DSM_OK;
        return fail(DSM_ERR_BELOW, "{} at node {}, address {}, length {}: LAPI: {}", what, node, address, length,
                    words_of_lapi(code).data());
    }

    // Of WRITEs that have returned long ago.
    int told_late(const char *what) const
    {
        if (!any_error.exchange(false)) return DSM_OK;
        int status = DSM_OK;
        for (int node = 0; node < nodes_; node++) {
            const int code = take_error(node);
            if (code == LAPI_SUCCESS || status != DSM_OK) continue;
            status = fail(DSM_ERR_BELOW, "{}: an earlier access to node {}: LAPI: {}", what, node,
                          words_of_lapi(code).data());
        }
        return status;
    }

    lapi_handle_t handle_;
    int node_, nodes_;
    char *own_ = nullptr;
    std::vector<char *> begins_;
    std::vector<char> near_; // by node: shares this machine's memory
    outbox outbox_;
    lock_queue queue_;
};

} // namespace

std::unique_ptr<wire> open_wire()
{
    lapi_handle_t handle = 0;
    lapi_info_t info{};
    int node = 0, nodes = 0;
    info.err_hndlr = on_error;
    int code = LAPI_Init(&handle, &info);
    if (code == LAPI_SUCCESS) code = LAPI_Qenv(handle, TASK_ID, &node);
    if (code == LAPI_SUCCESS) code = LAPI_Qenv(handle, NUM_TASKS, &nodes);
    if (code != LAPI_SUCCESS) {
        fail_below(code, "start");
        return nullptr;
    }
    if (!errors) errors = new std::atomic<int>[static_cast<std::size_t>(nodes)](); // nodes of the job: always as many
    for (int other = 0; other < nodes; other++) errors[other] = LAPI_SUCCESS;
    any_error = false;
    errors_nodes.store(nodes, std::memory_order_release);
    return std::make_unique<lapi_wire>(handle, node, nodes);
}

} // namespace dsm
