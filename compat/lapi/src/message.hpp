// SPDX-License-Identifier: Apache-2.0
// Active messages, and the questions and answers that tasks send each other for the library's own sake.
#pragma once

#include "context.hpp"
#include "transfer.hpp"

namespace lapi {

// The numbers of our handlers in onesea.
constexpr int message_id = SEA_AM_IDS - 2, service_id = SEA_AM_IDS - 1;

enum class service_kind : std::uint32_t {
    answer, // to an earlier question
    swap,   // compare-and-swap a word
    flush   // answer when all messages of this task that came before have their data in place
};

struct sending {
    lapi_long_t handler;
    const void *uhdr;
    uint uhdr_len;
    const void *data;
    ulong bytes;
    bool vector = false; // its handler is a vhdr_hndlr_t
};

int send(context &c, uint tgt, const sending &s, const ending &e);

// Asks `tgt`; `answered` is called once, unless the result is an error. words: four.
int ask(context &c, uint tgt, service_kind kind, const std::uint64_t *words, requests::answered answered);
// Answers question `id` of `source`; words: four, or null.
void answer(lapi_handle_t context_number, int source, std::uint64_t id, int code, const std::uint64_t *words);

// The way to `task` has been given up: what it was asked ends, as it does when a task dies.
void unreachable(uint task);

// For threads that wait or look again and again. A task may have given the way to this one up while it had nothing to
// send but an answer: that is found out here by sending something there, now and then.
void look_after_answers(context &c);

// Returns when onesea's handlers of errors have run for all errors that it had found before; false: enough() has come
// true first. That is asked every tenth of a second.
bool wait_for_news_of_errors(context &c, const std::function<bool()> &enough);

// Once per process, after sea_init().
int register_handlers();

} // namespace lapi
