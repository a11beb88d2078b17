// SPDX-License-Identifier: Apache-2.0
// The conversation with one peer, both directions: a state machine without I/O. It takes messages, verified packets
// and the time; it gives datagrams, frames to the sink, and the time when it wants to be called again.
//
// Sending. Messages wait in the outbox. When the windows allow, what is at its front becomes a *bundle*, which gets a
// number and lives until it is acknowledged; a packet carries one bundle. A lost bundle goes again in a packet with a
// new number. What does not fill a send (a packet, or as many small ones as the kernel cuts from one) waits for company
// where a few others went less than company_gap ago (or one, if a crowd came the last time), until there is enough, an
// acknowledgement comes, flush() is called or hold_limit has passed. What goes then are full packets, or one that is
// not. At the beginning a little is enough, so that the target is busy soon; then twice as much each time.
//
// While nothing gets lost, a packet may be longer than a datagram, and goes as a train of them (train.hpp). A bundle
// whose train was lost goes again in parts, each in a packet of one datagram.
//
// Receiving. A bundle is executed when it comes, once; an ordered one when all lower numbers have been. A packet is
// acknowledged only after its bundle was executed, or is kept until its turn comes: that of an ordered one is told by
// the number below which all were executed.
//
// Silence is not loss: after a probe time-out two packets ask for an acknowledgement, then the time doubles. Loss is
// what later acknowledgements show.
//
// After a long silence a link is given up. Its peer may have nothing outstanding and just wait for an answer that will
// not come, so it is told, again and again until it has heard it.
#pragma once

#include "base/counts_page.hpp"
#include "base/ring_queue.hpp"
#include "base/transport.hpp"
#include "net/crypto.hpp"
#include "net/numbers.hpp"
#include "net/outbox.hpp"
#include "net/packet.hpp"
#include "net/recovery.hpp"

#include <map>
#include <memory>
#include <vector>

namespace onesea::net {

static_assert(gso_bytes / (short_datagram - header_bytes - tag_bytes - part_head_bytes) < most_cuts,
              "the longest train, in parts");

// One packet to be sent, in pieces: what is long stays where it is.
struct datagram {
    std::uint64_t number = 0; // of the packet
    std::array<std::span<const std::byte>, most_pieces> pieces;
    unsigned count = 0;
    std::size_t bytes = 0;
    alignas(8) std::byte head[header_bytes + max_ack_bytes + short_run];
    alignas(8) std::byte tail[short_run + tag_bytes];
    alignas(8) std::byte small[short_packet];
    std::span<std::byte> room;    // given by who builds: packets that fit are put together here, not in `small`
    std::vector<std::byte> whole; // where there is no room
    std::size_t train = 0;        // it goes in datagrams of that length; 0: it is one
    bool bare = false;            // of which only the first has a header
    bool asks = false;            // for an acknowledgement
    bool lasting = false;         // its pieces stay as they are until it is acknowledged
    bool alone = false;           // nothing else that lasts is under way to that peer; says nothing if it does not
};

inline constexpr path_tuning usual_tuning{};

struct link_config {
    std::uint32_t own_rank = 0, peer_rank = 0, job_tag = 0;
    std::uint32_t trust = 0; // packets without a loss before there are trains
    direction_keys out{}, in{};
    std::uint32_t max_datagram = least_datagram;
    bool trains = false;
    const path_tuning *tuning = &usual_tuning; // outlives the link
    std::uint64_t give_up = default_give_up;
    pair_row *row = nullptr; // where it counts; outlives the link. nullptr: in a row of its own
};

class link {
  public:
    link(const link_config &config, crypto &cipher, sink &to, bundle_pool &pool);
    ~link();

    // Payload of a frame that fits a datagram.
    std::size_t max_frame() const { return max_datagram() - header_bytes - frame_bytes - cipher_.tag_size(); }
    // Of one that is copied, at this moment.
    std::size_t max_copied_frame() const { return std::min(most_packed() - frame_bytes, most_payload); }
    const direction_keys &keys_in() const { return config_.in; }
    const direction_keys &keys_out() const { return config_.out; }
    // Nothing got lost lately: datagrams may share their fate.
    bool trusts() const { return trust_.holds(config_.trust) && unanswered_probes_ == 0; }

    // False: nothing can be built now that could not be built before.
    bool send(const outgoing &message);
    void flush() { flushed_ = true; }
    // Somebody waits for the end of all that was sent: an acknowledgement is asked for, if it has not been. `answers`:
    // also where all is acknowledged, since answers may be lazy.
    void hurry(bool answers);
    // How often the peer has asked, modulo 256.
    std::uint8_t asked() const { return asked_; }
    // All that there is to send is lazy: it goes with the next acknowledgement, at the latest after ack_delay.
    bool only_lazy() const { return outbox_.only_lazy() && outbox_.bytes() < most_lazy; }
    void go_later(std::uint64_t now) { ack_at_ = std::min(ack_at_, now + ack_delay); }

    // The next datagram to send now; false if there is none. may_build(): it is worth to ask.
    bool may_build() const { return has_queued() || is_due(); }
    // Nothing is there to be sent, or waits for company or its time.
    bool is_empty() const { return outbox_.empty() && !is_due(); }
    bool build(std::uint64_t now, datagram *result);
    // The kernel did not take it: it counts as never sent.
    [[gnu::cold]] void unbuild(const datagram &d);

    // A packet whose tag was good and whose structure was checked. False: it has come before, and was dropped.
    bool receive(const packet_view &packet, std::uint64_t now);
    // The newest bundle ended within a message: the sender has more to send.
    bool rest_follows() const { return rest_follows_; }
    // That packet was a train, and has come in one piece; or it was split, though it might have.
    void note_train(bool whole) { whole_in_ = std::uint16_t(whole ? whole_in_ + (whole_in_ < most_told_whole) : 0); }
    // The kernel does not cut sends, or not any more.
    void make_no_trains()
    {
        if (std::exchange(config_.trains, false)) adapt_to_path();
    }
    // Long datagrams did not arrive: it sends short ones only.
    bool goes_short() const { return max_datagram() <= short_datagram; }
    // All that had arrived has been taken in: acknowledgements that are due go now.
    void end_of_burst();
    // Something to send is expected within hold_limit: what is due waits so long for it.
    void postpone_ack(std::uint64_t now);

    std::uint64_t deadline() const;
    void on_time(std::uint64_t now);

    void set_grant(std::size_t bytes) { grant_ = std::uint32_t(std::min<std::size_t>(bytes, config_.tuning->window)); }
    // What may be under way here, of what all links of the process share.
    void set_room(std::size_t bytes) { room_ = std::uint32_t(std::min<std::size_t>(bytes, config_.tuning->window)); }
    // The kernel may lose a send of many datagrams as one: so much of the window may be in one, that what comes behind
    // it shows the loss.
    std::size_t most_in_one_send() const
    {
        return std::min<std::size_t>(congestion_.bytes() / 4, config_.tuning->fragment);
    }
    std::uint64_t last_heard() const { return last_heard_; }
    bool has_queued() const { return !outbox_.empty() && !only_lazy(); }
    bool idle() const { return outbox_.empty() && bundles_.empty() && settling_.empty(); }
    // Nobody expects anything of it: it gives back the memory that it does not use.
    void rest();
    bool peer_closed() const { return peer_closed_; }
    bool has_failed() const { return failed_; }
    // Ends everything outstanding with that status; nothing more is sent.
    [[gnu::cold]] void settle_all(int status);
    // The last datagram: nothing more will come.
    [[gnu::cold]] void build_close(std::uint64_t now, datagram *result);

    const pair_counts &counts() const { return row_.counts; }
    histogram_copy round_trips() const { return row_.round_trips.copy(); }

  private:
    // Something goes now, whatever waits in the outbox.
    bool is_due() const { return !again_.empty() || probes_due_ || ack_now_ || hurried_ || failed_; }

    struct sent_packet {
        std::uint64_t number = 0, bundle = 0, at = 0;
        std::uint32_t charge = 0;
        enum : std::uint8_t { flying, resolved, lost } state = flying;
        std::uint8_t part = 0;
        bool probe = false;
        std::uint8_t suspicion = 0; // if it is lost
        bool bare = false;          // a train
    };
    struct piece { // of what goes again
        std::uint64_t bundle = 0;
        unsigned part = 0; // 0: all of it, or the part of that number, from 1
    };

    link_config config_;
    std::unique_ptr<pair_row> own_row_;
    pair_row &row_;
    pair_counts &counts_;
    crypto &cipher_;
    sink &sink_;

    // sending
    bundle_pool &pool_;
    outbox outbox_;
    std::uint64_t held_since_ = 0;                // its front waits for company; 0: it has not been looked at
    std::size_t released_ = 0;                    // bytes of the outbox that wait for nobody any more
    std::uint32_t release_;                       // as many need not wait for company
    std::uint32_t seen_bytes_ = 0;                // so many were there when it was looked at last and had to wait,
    std::uint32_t seen_after_ = 0;                // so long after the first look
    std::uint32_t queued_ = 0;                    // messages since the outbox was empty
    ring_queue<std::unique_ptr<bundle>> bundles_; // by number from first_bundle_; acked ones leave at the front
    std::uint64_t first_bundle_ = 0;
    ring_queue<piece> again_; // to be sent again
    ring_queue<sent_packet> sent_;
    std::uint64_t next_packet_ = 0;
    std::uint32_t in_flight_ = 0; // bytes, charged
    std::uint32_t peer_grant_ = first_grant;
    std::uint32_t room_; // of what all links of the process may have under way
    reordering reordering_;
    round_trip rtt_;
    congestion_window congestion_;
    path_length length_;
    path_trust trust_;
    bare_trust bare_;
    std::uint16_t whole_in_ = 0;     // trains in a row that have come in one piece
    std::uint32_t most_content_ = 0; // of a packet now
    std::uint32_t notices_in_ = 0, notices_out_ = 0, ack_notices_ = 0;
    std::uint64_t probe_from_ = 0; // the probe timer runs from here
    std::uint64_t last_heard_ = 0;
    std::uint64_t silence_ = 0; // the sum of the probe time-outs since then: a clock that jumps is no silence
    std::uint64_t loss_check_at_ = never;
    std::uint64_t largest_acked_ = 0;
    struct settling {
        to_tell who;
        std::uint32_t notices = 0; // to have come first
    };
    ring_queue<settling> settling_;
    std::uint32_t kept_ = 0;             // bytes of bundles that are there, but not known to be executed
    std::uint8_t unanswered_probes_ = 0; // as far as it can count
    std::uint8_t probes_due_ = 0;
    std::uint8_t tellings_ = 0; // how often the peer of a link given up was told so, while that makes a difference
    bool flushed_ = false, failed_ = false, peer_closed_ = false;
    bool broken_ : 1 = false, peer_knows_ : 1 = false; // given up, by this side or the other one
    bool last_asked_ : 1 = false;                      // for an acknowledgement: the newest packet
    bool hurried_ : 1 = false;                         // somebody waits: one has to ask
    bool rest_follows_ : 1 = false;
    bool late_in_ : 1 = false; // a packet behind those that one word tells of
    std::uint8_t asked_ = 0;
    bool any_in_ = false, ack_now_ = false;
    bool company_over_ = false;     // an acknowledgement has ended the wait for company
    bool crowd_came_ = false;       // when something waited for it the last time
    std::uint64_t tell_at_ = never; // the peer, that the link was given up

    // receiving
    number_window<replay_window> packets_seen_;
    number_window<2048> packets_done_; // executed, or kept until their turn comes: what the ack block tells
    std::uint64_t largest_in_ = 0, largest_in_at_ = 0, unbroken_from_ = 0;
    number_window<bundle_window> bundles_done_;
    struct held_bundle {        // it comes in parts, or before its turn
        unsigned parts = 0;     // 0: all of it is there
        std::uint64_t come = 0; // of them; bit by index
        std::vector<std::byte> content;
    };
    using held_bundles = std::map<std::uint64_t, held_bundle>;
    held_bundles held_;
    std::uint32_t held_bytes_ = 0;
    std::uint32_t unacked_in_ = 0; // bytes, charged, since the last ack went out
    std::uint64_t ack_at_ = never;
    std::uint32_t grant_;
    std::uint32_t bundles_in_ = 0; // executed, modulo 2^32

    std::size_t max_datagram() const { return config_.max_datagram; }          // a multiple of 8
    std::size_t most_in_datagram() const { return max_frame() + frame_bytes; } // of a packet's content
    std::size_t most_in_part() const { return most_in_datagram() - part_head_bytes; }
    unsigned parts_of(const bundle &b) const { return unsigned((b.bytes + most_in_part() - 1) / most_in_part()); }
    bool needs_train(const bundle &b) const { return b.bytes > most_in_datagram(); }
    bool is_long(const sent_packet &p) const { return !goes_short() && p.charge > short_datagram + packet_overhead; }
    bool is_train(const sent_packet &p) const { return p.charge > max_datagram() + packet_overhead; }
    std::uint32_t datagrams_of(const sent_packet &p) const
    {
        return is_train(p) ? p.charge / std::uint32_t(max_datagram() + packet_overhead) : 1;
    }
    bool is_cut_anew(const bundle &b) const { return !b.there && b.cuts != 0 && b.cuts != parts_of(b); }
    [[gnu::cold]] void go_short();
    void adapt_to_path();
    std::uint32_t enough_for_bare() const { return std::max<std::uint32_t>(config_.trust / 8, 1); }
    bool goes_bare() const
    {
        return config_.trains && cipher_.mode() == secure_mode::auth && bare_.holds(enough_for_bare());
    }
    std::size_t most_packed() const;
    bool lends() const; // long pieces of its packets may go without being copied
    std::size_t charge_of(std::size_t bytes) const;
    std::size_t next_charge() const;
    std::size_t enough() const;
    bool window_open(std::size_t charge) const;
    bool more_may_wait() const;
    bool fills_own_window(std::size_t content) const;
    bool front_may_go(std::uint64_t now) const;
    bundle *next_bundle(std::uint64_t now);
    void note_wait(std::uint64_t now);
    void note_rest(std::size_t taken);
    bundle *find(std::uint64_t number);
    void build_packet(bundle *b, unsigned part, std::uint64_t now, bool ask, datagram *result);
    [[gnu::cold]] void send_again(bundle *b, unsigned part);
    [[gnu::cold]] void send_in_parts(bundle *b);
    [[gnu::cold]] void queue_again(const piece &p);
    [[gnu::cold]] bool again_may_go(std::size_t more);
    [[gnu::cold]] bool build_again(std::uint64_t now, datagram *result);
    [[gnu::cold]] bool find_next_again();
    std::size_t charge_of(const piece &again);
    std::size_t window() const;
    [[gnu::cold]] bool build_probe(std::uint64_t now, datagram *result);
    void build_ack(std::uint64_t now, datagram *result, std::uint8_t flags = 0);
    [[gnu::cold]] bool build_broken(std::uint64_t now, datagram *result);
    [[gnu::cold]] void hear_broken(bool asks, std::uint64_t now);
    std::size_t write_ack_block(std::byte *to, std::uint64_t now, std::size_t room);
    bool in_one_piece(const bundle &b) const;
    bool is_better_copied(const bundle &b) const;
    void seal(datagram *d, std::uint64_t number, bool in_one_piece);
    void part_acked(bundle *b, unsigned part);
    void bundle_acked(bundle *b);
    void drop_front_bundle();
    void settle_ready();
    void drop_acked();
    void drop_copies();
    void take_ack(const ack_view &ack, std::uint64_t now);
    void packet_acked(sent_packet &p, std::uint64_t now);
    [[gnu::cold]] void suspect(sent_packet &p, std::uint64_t now);
    [[gnu::cold]] void confirm_losses();
    void note_round_trip(std::uint64_t ns, std::uint64_t peer_delay);
    void find_lost(std::uint64_t now);
    void take_bundle(const packet_view &packet);
    [[gnu::cold]] void take_part(const packet_view &packet);
    void run_bundle(const packet_header &header, std::span<const std::byte> content, const std::byte *landed);
    bool is_early(const packet_header &header) const;
    bool has_to_wait(const packet_header &header) const;
    [[gnu::cold]] held_bundles::iterator hold(std::uint64_t bundle, std::size_t bytes);
    [[gnu::cold]] void let_go(held_bundles::iterator held);
    void execute(std::span<const std::byte> content, const std::byte *landed);
    [[gnu::cold]] void run_held();
    void note_done(std::uint64_t packet);
    void note_bundle_executed(std::uint64_t bundle);
    unsigned words_to_tell() const;
    std::uint64_t ack_word(unsigned index) const;
    bool company_is_likely(std::uint64_t now) const;
    bool held_for_company(std::uint64_t now) const;
    bool waits_only_for_company() const;
    // All that is not known to be executed has come: the peer has only to say so.
    bool all_there() const { return in_flight_ == 0 && again_.empty() && !bundles_.empty(); }
    bool wants_probe() const { return !failed_ && (in_flight_ > 0 || all_there()); }
};

} // namespace onesea::net
