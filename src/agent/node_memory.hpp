// SPDX-License-Identifier: Apache-2.0
// What the ranks of a node share, on the agent's side: the arena, doorbells, the UDP socket of each rank, and the
// lifeline whose end tells the ranks that the agent has died.
#pragma once

#include "agent/address.hpp"
#include "agent/node_job.hpp"

namespace onesea::agent {

class node_memory {
  public:
    // Makes everything but the addresses of the others. Throws request_error.
    explicit node_memory(const node_job &job);
    ~node_memory();
    node_memory(const node_memory &) = delete;
    node_memory &operator=(const node_memory &) = delete;

    const node_address &address() const { return address_; } // empty without a network
    std::vector<unsigned> ports() const;                     // empty without a network

    // Fills the tables; all ranks of the job are alive from now on.
    void fill(const job_table &table);

    // Makes what one more rank of this node needs. Returns its port, 0 without a network. Throws request_error.
    unsigned add(unsigned rank, unsigned spawned_by);

    // One more rank of the job, with the next number; alive from now on. Throws request_error.
    void place(const joining_rank &more);

    // Value of ONESEA_BIRTH for a slot, and the descriptors that only this rank keeps.
    std::string birth_of(unsigned slot) const;
    std::vector<int> own_descriptors(unsigned slot) const;
    void has_started(unsigned slot); // the agent needs its copies of the rank's descriptors no more
    void has_ended(unsigned slot);   // or could not be started: closes what nobody asks for any more

    // The page that the rank of a slot counts in. If the job tells what its ranks counted, it is there after the rank
    // has ended, however it did.
    int counts_of(unsigned slot) const { return places_[slot].counts; }
    int wishes_of(unsigned slot) const { return places_[slot].wishes; } // the agent's end; -1: it has ended

    // How far a local rank came: 0 sea_init() never called, 1 called, 2 sea_finalize() done.
    unsigned progress_of(unsigned slot) const;

    // A rank of the job has ended; tell_ranks() wakes the local ones to look.
    void set_state(unsigned rank, shm::rank_state state, int status);
    void tell_ranks();

    // Asks all local ranks what they wait for (core/waits.cpp): the number of the question, which their pages tell when
    // they have answered.
    std::uint32_t ask_for_waits();

  private:
    struct place_of_rank {
        unsigned rank = 0;
        int socket = -1;
        unsigned port = 0;
        int counts = -1;
        int wishes = -1, ranks_wishes = -1; // two ends
    };
    void open_doorbells();
    void choose_network();
    place_of_rank open_place(unsigned rank);
    static void close_place(const place_of_rank &p);
    void close_all();

    const node_job &job_;
    node_address address_;
    shm::arena arena_;
    int arena_fd_ = -1;
    int lifeline_[2] = {-1, -1};
    std::vector<int> doorbells_;
    std::vector<place_of_rank> places_; // by slot
    bool changed_ = false;
};

} // namespace onesea::agent
