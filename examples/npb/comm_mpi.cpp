// SPDX-License-Identifier: Apache-2.0
// The back end over MPI, for comparison: what a careful MPI program does. Exchanges are pairs of a non-blocking receive
// and a send; keys go straight into the landing, by receives that are posted before anything is sent, and are counted
// in the order in which they come, while the rest is under way.
#define OMPI_SKIP_MPICXX 1 // the C++ interface that MPI has given up
#define MPICH_SKIP_MPICXX 1
#include "comm.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <stdexcept>

namespace npb {
namespace {

enum tags { exchange_tag = 100, keys_tag = 1 }; // channel c of CG: exchange_tag + c

void check(int status, const char *call)
{
    if (status == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(status, text, &length);
    throw std::runtime_error(std::string(call) + ": " + text);
}

struct channel {
    int partner;
    std::vector<double> arrived;
};

class comm_mpi final : public comm {
  public:
    comm_mpi()
    {
        check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string describe() const override;
    double seconds() const override { return MPI_Wtime(); }
    void barrier() override { check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }
    void allgather(const void *mine, void *all, std::size_t bytes) override;
    int open(int partner, std::size_t capacity) override;
    void connect() override {}
    std::span<const double> exchange(int channel, std::span<const double> mine, std::size_t expected) override;
    std::span<key> open_landing(std::size_t capacity, std::size_t own) override
    {
        landing_.resize(capacity);
        own_keys_.resize(own);
        return own_keys_;
    }
    void deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                 const arrival_fn &arrived) override;

  private:
    int rank_ = 0, size_ = 1;
    std::vector<channel> channels_;
    std::vector<key> landing_, own_keys_;
    std::vector<MPI_Request> receives_, sends_;
};

// The library's own first line: "Open MPI v4.1.4, package: ..." or "MPICH Version: 4.0.2".
std::string comm_mpi::describe() const
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
    std::string result(text, std::strcspn(text, ",\n"));
    for (auto tab = result.find('\t'); tab != std::string::npos; tab = result.find('\t')) result.erase(tab, 1);
    return result;
}

void comm_mpi::allgather(const void *mine, void *all, std::size_t bytes)
{
    const int n = static_cast<int>(bytes);
    check(MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, MPI_COMM_WORLD), "MPI_Allgather");
    check(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

int comm_mpi::open(int partner, std::size_t capacity)
{
    channels_.push_back({partner, std::vector<double>(capacity)});
    return static_cast<int>(channels_.size()) - 1;
}

std::span<const double> comm_mpi::exchange(int number, std::span<const double> mine, std::size_t expected)
{
    channel &link = channels_[static_cast<std::size_t>(number)];
    if (link.partner == rank_) {
        std::memcpy(link.arrived.data(), mine.data(), mine.size_bytes());
        return {link.arrived.data(), expected};
    }
    MPI_Request receive;
    check(MPI_Irecv(link.arrived.data(), static_cast<int>(expected), MPI_DOUBLE, link.partner, exchange_tag + number,
                    MPI_COMM_WORLD, &receive),
          "MPI_Irecv");
    check(MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, link.partner, exchange_tag + number,
                   MPI_COMM_WORLD),
          "MPI_Send");
    check(MPI_Wait(&receive, MPI_STATUS_IGNORE), "MPI_Wait");
    return {link.arrived.data(), expected};
}

void comm_mpi::deliver(std::span<const outgoing_keys> outgoing, std::span<const incoming_keys> incoming,
                       const arrival_fn &arrived)
{
    receives_.assign(static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
    sends_.assign(static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
    for (int step = 1; step < size_; ++step) {
        const auto source = static_cast<std::size_t>((rank_ - step + size_) % size_);
        check(MPI_Irecv(landing_.data() + incoming[source].place, static_cast<int>(incoming[source].count),
                        MPI_UINT32_T, static_cast<int>(source), keys_tag, MPI_COMM_WORLD, &receives_[source]),
              "MPI_Irecv");
    }
    for (int step = 1; step < size_; ++step) {
        const auto target = static_cast<std::size_t>((rank_ + step) % size_);
        check(MPI_Isend(outgoing[target].keys.data(), static_cast<int>(outgoing[target].keys.size()), MPI_UINT32_T,
                        static_cast<int>(target), keys_tag, MPI_COMM_WORLD, &sends_[target]),
              "MPI_Isend");
    }
    for (int left = size_ - 1; left > 0; --left) {
        int source = 0;
        check(MPI_Waitany(size_, receives_.data(), &source, MPI_STATUS_IGNORE), "MPI_Waitany");
        const incoming_keys &part = incoming[static_cast<std::size_t>(source)];
        arrived(source, {landing_.data() + part.place, part.count});
    }
}

} // namespace

std::unique_ptr<comm> join(int &argc, char **&argv)
{
    check(MPI_Init(&argc, &argv), "MPI_Init");
    return std::make_unique<comm_mpi>();
}

void leave() { check(MPI_Finalize(), "MPI_Finalize"); }

void give_up(const std::string &text)
{
    std::fprintf(stderr, "%s\n", text.c_str());
    int running = 0;
    MPI_Initialized(&running);
    if (running != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    std::exit(1);
}

} // namespace npb
