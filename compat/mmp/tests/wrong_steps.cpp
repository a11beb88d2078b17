// SPDX-License-Identifier: Apache-2.0
// What a program can do wrong: each gives a status and words that name the thing, and changes nothing.
#include "battery.hpp"

#include <algorithm>
#include <cmath>

namespace battery {
namespace {

void bad_ranks_and_tags_are_named()
{
    const int n = MP_size();
    int word = 0, found = 0;
    MP_request request = 77;
    const std::string all = "the job has the ranks 0 to " + std::to_string(n - 1);
    for (int rank : {n, -2, 1000000, MP_ANY_SOURCE}) {
        EXPECT_STATUS(MP_ERR_RANK, MP_send(rank, 0, &word, sizeof word, &request));
        EXPECT_WORDS("MP_send: rank " + std::to_string(rank) + ": " + all);
    }
    EXPECT_STATUS(MP_ERR_RANK, MP_receive(n, 0, &word, sizeof word, &request));
    EXPECT_WORDS("MP_receive: rank " + std::to_string(n) + ": " + all);
    EXPECT_STATUS(MP_ERR_RANK, MP_probe(-3, 0, nullptr));
    EXPECT_STATUS(MP_ERR_RANK, MP_look(n, 0, &found, nullptr));
    EXPECT_STATUS(MP_ERR_TAG, MP_send(0, -5, &word, sizeof word, &request));
    EXPECT_WORDS("MP_send: tag -5: tags are 0 to 2147483647");
    EXPECT_STATUS(MP_ERR_TAG, MP_send(0, MP_ANY_TAG, &word, sizeof word, &request));
    EXPECT_WORDS("MP_ANY_TAG is for receiving");
    EXPECT_STATUS(MP_ERR_TAG, MP_receive(0, -2, &word, sizeof word, &request));
    EXPECT_STATUS(MP_ERR_TAG, MP_probe(MP_ANY_SOURCE, -2, nullptr));
    EXPECT(request == 77);
    std::size_t bytes = 77;
    EXPECT_STATUS(MP_ERR_RANK, MP_fragment(n, &bytes));
    EXPECT(bytes == 77);
}

void memory_that_cannot_be_given_or_taken_back_is_named()
{
    void *memory = &memory, *const before = memory;
    EXPECT_STATUS(MP_ERR_INVALID, MP_alloc(0, &memory));
    EXPECT_WORDS("MP_alloc: 0 bytes");
    EXPECT_STATUS(MP_ERR_INVALID, MP_alloc(64, nullptr));
    EXPECT_STATUS(MP_ERR_MEMORY, MP_alloc(std::size_t(1) << 60, &memory));
    EXPECT_WORDS("MP_alloc of 1152921504606846976 bytes");
    EXPECT(memory == before);
    int word = 0;
    EXPECT_STATUS(MP_ERR_ADDRESS, MP_free(&word));
    EXPECT_WORDS("is not what MP_alloc() gave");
    EXPECT_DONE(MP_free(nullptr));
    EXPECT_DONE(MP_alloc(100, &memory));
    EXPECT_STATUS(MP_ERR_ADDRESS, MP_free(static_cast<char *>(memory) + 64));
    EXPECT_DONE(MP_free(memory));
    EXPECT_STATUS(MP_ERR_ADDRESS, MP_free(memory));
}

void null_pointers_are_named()
{
    int word = 0;
    MP_request request = MP_REQUEST_NULL;
    EXPECT_STATUS(MP_ERR_INVALID, MP_send(0, 0, nullptr, 4, &request));
    EXPECT_WORDS("MP_send: 4 bytes at a null pointer");
    EXPECT_STATUS(MP_ERR_INVALID, MP_receive(0, 0, nullptr, 1, &request));
    EXPECT_STATUS(MP_ERR_INVALID, MP_send(0, 0, &word, SIZE_MAX, &request));
    EXPECT_WORDS("bytes are more than any memory has; as a signed number it is -1");
    EXPECT_STATUS(MP_ERR_INVALID, MP_wait(nullptr, nullptr));
    EXPECT_WORDS("MP_wait: the request is a null pointer");
    EXPECT_STATUS(MP_ERR_INVALID, MP_test(&request, nullptr, nullptr));
    EXPECT_STATUS(MP_ERR_INVALID, MP_wait_any(nullptr, 1, &word, nullptr));
    EXPECT_STATUS(MP_ERR_INVALID, MP_wait_any(&request, 1, nullptr, nullptr));
    EXPECT_STATUS(MP_ERR_INVALID, MP_wait_all(&request, -1, nullptr));
    EXPECT_WORDS("-1 requests");
    EXPECT_STATUS(MP_ERR_INVALID, MP_cancel(nullptr));
    EXPECT_STATUS(MP_ERR_INVALID, MP_look(0, 0, nullptr, nullptr));
    EXPECT_STATUS(MP_ERR_INVALID, MP_fragment(0, nullptr));
}

void a_finished_request_cannot_be_waited_for()
{
    const int mine = MP_rank();
    int value = -1, done = -1, index = -1;
    MP_request receive, send;
    EXPECT_DONE(MP_receive(left(), 1, &value, sizeof value, &receive));
    EXPECT_DONE(MP_send(right(), 1, &mine, sizeof mine, &send));
    MP_request copy = receive, of_send = send;
    EXPECT_DONE(MP_wait(&receive, nullptr));
    EXPECT_DONE(MP_wait(&send, nullptr));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_wait(&receive, nullptr));
    EXPECT_WORDS("MP_wait: MP_REQUEST_NULL: the request is finished, or was never started");
    EXPECT_STATUS(MP_ERR_REQUEST, MP_wait(&copy, nullptr));
    EXPECT_WORDS("is finished, or was never started");
    EXPECT_STATUS(MP_ERR_REQUEST, MP_wait(&of_send, nullptr));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_test(&copy, &done, nullptr));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_wait_for(&copy, 0.1, nullptr));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_wait_any(&copy, 1, &index, nullptr));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_wait_all(&copy, 1, nullptr));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_cancel(&copy));
    for (MP_request forged : {MP_request(1), MP_request(12345), ~MP_request(0), MP_request(1) << 32}) {
        EXPECT_STATUS(MP_ERR_REQUEST, MP_wait(&forged, nullptr));
    }
    // Its place is used again: the old number stays one that is finished.
    MP_request next;
    EXPECT_DONE(MP_receive(left(), 2, &value, sizeof value, &next));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_wait(&copy, nullptr));
    EXPECT_DONE(MP_send(right(), 2, &mine, sizeof mine, nullptr));
    EXPECT_DONE(MP_wait(&next, nullptr));
    EXPECT(value == left());
}

void a_longer_message_is_cut_and_told()
{
    for (std::size_t bytes : {100, 5000, 400000}) {
        const auto mine = pattern(bytes, MP_rank(), 4), theirs = pattern(bytes, left(), 4);
        std::vector<char> buffer(64, 'x');
        MP_request receive, send;
        MP_status status{};
        EXPECT_DONE(MP_receive(left(), 4, buffer.data(), 60, &receive));
        EXPECT_DONE(MP_send(right(), 4, mine.data(), bytes, &send));
        EXPECT_STATUS(MP_ERR_TRUNCATED, MP_wait(&receive, &status));
        EXPECT_WORDS("the message of rank " + std::to_string(left()) + " with tag 4 has " + std::to_string(bytes) +
                     " bytes, the memory for it 60");
        EXPECT(status.source == left() && status.tag == 4 && status.bytes == bytes);
        EXPECT(std::equal(buffer.begin(), buffer.begin() + 60, theirs.begin()));
        EXPECT(std::all_of(buffer.begin() + 60, buffer.end(), [](char c) { return c == 'x'; }));
        EXPECT_DONE(MP_wait(&send, nullptr));
        // The same if the message was there first, and told to who tests or waits for any.
        EXPECT_DONE(MP_send(right(), 5, mine.data(), 90, nullptr));
        EXPECT_DONE(MP_probe(left(), 5, nullptr));
        int index = -1;
        EXPECT_DONE(MP_receive(left(), 5, buffer.data(), 60, &receive));
        status = {};
        EXPECT_STATUS(MP_ERR_TRUNCATED, MP_wait_any(&receive, 1, &index, &status));
        EXPECT(index == 0 && receive == MP_REQUEST_NULL && status.bytes == 90);
        EXPECT_DONE(MP_send(right(), 5, mine.data(), 50, nullptr));
        EXPECT_STATUS(MP_ERR_TRUNCATED, MP_receive(left(), 5, buffer.data(), 49, nullptr));
    }
}

void time_outs_leave_what_was_started()
{
    int value = -1, index = -1;
    MP_request receive;
    EXPECT_DONE(MP_receive(left(), 6, &value, sizeof value, &receive));
    const double start = MP_time();
    EXPECT_STATUS(MP_ERR_TIMEOUT, MP_wait_for(&receive, 0.05, nullptr));
    EXPECT_WORDS("MP_wait_for: the request is not complete in the time given");
    EXPECT(MP_time() - start >= 0.05 && receive != MP_REQUEST_NULL);
    EXPECT_STATUS(MP_ERR_TIMEOUT, MP_wait_for(&receive, 0, nullptr));
    EXPECT_DONE(MP_set_timeout(0.05));
    EXPECT_STATUS(MP_ERR_TIMEOUT, MP_wait(&receive, nullptr));
    EXPECT_STATUS(MP_ERR_TIMEOUT, MP_wait_any(&receive, 1, &index, nullptr));
    EXPECT_STATUS(MP_ERR_TIMEOUT, MP_wait_all(&receive, 1, nullptr));
    EXPECT_STATUS(MP_ERR_TIMEOUT, MP_probe(left(), 6, nullptr));
    EXPECT_WORDS("MP_probe: rank " + std::to_string(left()) + ", tag 6: the time given has passed");
    int withdrawn = -1;
    EXPECT_STATUS(MP_ERR_TIMEOUT, MP_receive(left(), 7, &withdrawn, sizeof withdrawn, nullptr));
    const std::string words = MP_last_error(), passed = "the time given has passed";
    EXPECT(words.find(passed) != words.npos && words.find(passed) == words.rfind(passed)); // said once
    EXPECT_DONE(MP_set_timeout(MP_FOREVER));
    EXPECT_DONE(MP_barrier());
    const int mine = MP_rank();
    EXPECT_DONE(MP_send(right(), 6, &mine, sizeof mine, nullptr));
    EXPECT_DONE(MP_send(right(), 7, &mine, sizeof mine, nullptr));
    EXPECT_DONE(MP_wait(&receive, nullptr));
    EXPECT(value == left());
    EXPECT_DONE(MP_receive(left(), 7, &value, sizeof value, nullptr));
    EXPECT(value == left() && withdrawn == -1);
    for (double seconds : {-2.0, std::nan("")}) {
        EXPECT_STATUS(MP_ERR_INVALID, MP_set_timeout(seconds));
        EXPECT_STATUS(MP_ERR_INVALID, MP_wait_for(&receive, seconds, nullptr));
    }
}

void receives_can_be_withdrawn_and_sends_not()
{
    int value = -1;
    const int mine = MP_rank();
    MP_request receive, send;
    EXPECT_DONE(MP_receive(left(), 8, &value, sizeof value, &receive));
    EXPECT_DONE(MP_cancel(&receive));
    EXPECT(receive != MP_REQUEST_NULL);
    EXPECT_STATUS(MP_ERR_CANCELLED, MP_wait(&receive, nullptr));
    EXPECT_WORDS("from rank " + std::to_string(left()) + ", tag 8 was withdrawn");
    EXPECT_DONE(MP_barrier());
    EXPECT_DONE(MP_send(right(), 8, &mine, sizeof mine, &send));
    EXPECT_STATUS(MP_ERR_REQUEST, MP_cancel(&send));
    EXPECT_WORDS("only receives can be withdrawn");
    EXPECT_DONE(MP_probe(left(), 8, nullptr)); // so that the receive is complete at once
    EXPECT_DONE(MP_receive(left(), 8, &value, sizeof value, &receive));
    EXPECT_DONE(MP_cancel(&receive));
    EXPECT_DONE(MP_wait(&receive, nullptr));
    EXPECT_DONE(MP_wait(&send, nullptr));
    EXPECT(value == left());
}

void a_second_start_is_refused()
{
    EXPECT_STATUS(MP_ERR_STATE, MP_init());
    EXPECT_WORDS("MP_init: called a second time");
    EXPECT(MP_size() > 0);
    EXPECT(std::string(MP_strerror(-1000)) == "this is no status of MMP");
}

} // namespace

std::vector<step> wrong_steps()
{
    return {{"bad_ranks_and_tags_are_named", bad_ranks_and_tags_are_named},
            {"memory_that_cannot_be_given_or_taken_back_is_named", memory_that_cannot_be_given_or_taken_back_is_named},
            {"null_pointers_are_named", null_pointers_are_named},
            {"a_finished_request_cannot_be_waited_for", a_finished_request_cannot_be_waited_for},
            {"a_longer_message_is_cut_and_told", a_longer_message_is_cut_and_told},
            {"time_outs_leave_what_was_started", time_outs_leave_what_was_started},
            {"receives_can_be_withdrawn_and_sends_not", receives_can_be_withdrawn_and_sends_not},
            {"a_second_start_is_refused", a_second_start_is_refused}};
}

} // namespace battery
