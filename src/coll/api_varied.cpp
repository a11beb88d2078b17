// SPDX-License-Identifier: Apache-2.0
// sea_gatherv() to sea_alltoallv(): parts of different sizes.
#include "coll/check.hpp"
#include "coll/run.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace onesea;
using namespace onesea::coll;

namespace {

// What the caller says of a buffer of parts.
class description {
  public:
    description(const char *what, const void *buffer, const std::size_t *bytes, const std::size_t *offsets)
        : what_(what), buffer_(buffer), bytes_(bytes), offsets_(offsets)
    {
    }

    int check(const char *function, int members)
    {
        if (!bytes_) return fail(SEA_ERR_INVALID, "{}: the sizes of the parts of the {} are null", function, what_);
        if (!offsets_) place_side_by_side(members);
        for (int m = 0; m < members; ++m) {
            if (bytes_[m] == 0) continue;
            if (bytes_[m] > most_bytes || offsets_[m] > most_bytes - bytes_[m])
                return fail(SEA_ERR_INVALID,
                            "{}: part {} of the {}, {} bytes at offset {}, is more than any memory holds", function, m,
                            what_, bytes_[m], offsets_[m]);
            begin_ = std::min(begin_, offsets_[m]);
            end_ = std::max(end_, offsets_[m] + bytes_[m]);
        }
        if (end_ > 0 && !buffer_)
            return fail(SEA_ERR_INVALID, "{}: the {} is null but has {} bytes", function, what_, end_);
        return SEA_OK;
    }

    // That no two parts overlap.
    int check_apart(const char *function, int members) const
    {
        if (own_offsets_.size() > 0) return SEA_OK;
        std::vector<int> by_offset(std::size_t(members), 0);
        std::iota(by_offset.begin(), by_offset.end(), 0);
        std::erase_if(by_offset, [&](int m) { return bytes_[m] == 0; });
        std::sort(by_offset.begin(), by_offset.end(), [&](int a, int b) { return offsets_[a] < offsets_[b]; });
        for (std::size_t i = 1; i < by_offset.size(); ++i) {
            const int low = by_offset[i - 1], high = by_offset[i];
            if (offsets_[low] + bytes_[low] > offsets_[high])
                return fail(SEA_ERR_INVALID, "{}: parts {} and {} of the {} overlap", function, std::min(low, high),
                            std::max(low, high), what_);
        }
        return SEA_OK;
    }

    std::size_t bytes(int member) const { return bytes_[member]; }
    // From the first to the last byte of any part.
    const void *first() const { return static_cast<const std::byte *>(buffer_) + (end_ > 0 ? begin_ : 0); }
    std::size_t extent() const { return end_ > 0 ? end_ - begin_ : 0; }
    bool is_part(int member, const void *at) const
    {
        return at == static_cast<const std::byte *>(buffer_) + offsets_[member];
    }
    std::size_t total(int members) const { return std::accumulate(bytes_, bytes_ + members, std::size_t(0)); }
    // Of the sizes: members that do not agree on them are found out by it, also where their sums are the same.
    std::int32_t fingerprint(int members) const
    {
        std::uint64_t h = 14695981039346656037u;
        for (int m = 0; m < members; ++m) h = (h ^ bytes_[m]) * 1099511628211u;
        return std::int32_t(h ^ h >> 32);
    }
    parts where() const { return {bytes_, offsets_}; }

  private:
    void place_side_by_side(int members)
    {
        own_offsets_.resize(std::size_t(members));
        for (int m = 1; m < members; ++m) {
            const auto i = std::size_t(m);
            own_offsets_[i] = own_offsets_[i - 1] + std::min(bytes_[m - 1], most_bytes - own_offsets_[i - 1]);
        }
        offsets_ = own_offsets_.data();
    }

    const char *what_;
    const void *buffer_;
    const std::size_t *bytes_, *offsets_;
    std::vector<std::size_t> own_offsets_;
    std::size_t begin_ = most_bytes, end_ = 0;
};

// What goes from a whole buffer to the caller's part of the other one, or the other way. It may lie there already.
int check_own(const char *function, const team &t, const description &all, const char *what, const void *own,
              std::size_t own_bytes)
{
    if (all.bytes(t.me) != own_bytes)
        return fail(SEA_ERR_INVALID, "{}: the caller's own part has {} bytes, its {} {}", function, all.bytes(t.me),
                    what, own_bytes);
    if (own_bytes == 0 || all.is_part(t.me, own)) return SEA_OK;
    return check_buffers(function, {own, own_bytes, all.first(), all.extent()}, false);
}

int check_whole(const char *function, const char *what, const void *buffer, std::size_t bytes)
{
    if (int s = check_size(function, bytes)) return s;
    if (bytes > 0 && !buffer)
        return fail(SEA_ERR_INVALID, "{}: the {} is null but has {} bytes", function, what, bytes);
    return SEA_OK;
}

} // namespace

int sea_gatherv(sea_team handle, int root, const void *input, size_t own_bytes, void *output, const size_t *bytes,
                const size_t *offsets)
try {
    const char *name = "sea_gatherv";
    std::shared_ptr<team> t;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_root(name, *t, root)) return status;
    if (int status = check_whole(name, "input", input, own_bytes)) return status;
    description all("output", output, bytes, offsets);
    if (t->me == root) {
        if (int status = all.check(name, t->who.size())) return status;
        if (int status = all.check_apart(name, t->who.size())) return status;
        if (int status = check_own(name, *t, all, "input", input, own_bytes)) return status;
    }
    return run(name, *t, {.what = kind::gatherv, .root = root},
               [&](call &c) { gatherv(c, root, input, own_bytes, output, all.where()); });
} catch (const std::bad_alloc &) { // for the places of many parts
    return no_memory("sea_gatherv");
}

int sea_scatterv(sea_team handle, int root, const void *input, const size_t *bytes, const size_t *offsets, void *output,
                 size_t own_bytes)
try {
    const char *name = "sea_scatterv";
    std::shared_ptr<team> t;
    if (int status = member_of(name, handle, &t)) return status;
    if (int status = check_root(name, *t, root)) return status;
    if (int status = check_whole(name, "output", output, own_bytes)) return status;
    description all("input", input, bytes, offsets);
    if (t->me == root) {
        if (int status = all.check(name, t->who.size())) return status;
        if (int status = check_own(name, *t, all, "output", output, own_bytes)) return status;
    }
    return run(name, *t, {.what = kind::scatterv, .root = root},
               [&](call &c) { scatterv(c, root, input, all.where(), output, own_bytes); });
} catch (const std::bad_alloc &) { // for the places of many parts
    return no_memory("sea_scatterv");
}

int sea_allgatherv(sea_team handle, const void *input, void *output, const size_t *bytes, const size_t *offsets)
try {
    const char *name = "sea_allgatherv";
    std::shared_ptr<team> t;
    if (int status = member_of(name, handle, &t)) return status;
    description all("output", output, bytes, offsets);
    if (int status = all.check(name, t->who.size())) return status;
    if (int status = all.check_apart(name, t->who.size())) return status;
    if (int status = check_whole(name, "input", input, bytes[t->me])) return status;
    if (int status = check_own(name, *t, all, "input", input, bytes[t->me])) return status;
    const std::size_t total = all.total(t->who.size());
    const signature sign{.what = kind::allgatherv, .root = all.fingerprint(t->who.size()), .size = total};
    return run(name, *t, sign, [&](call &c) {
        if (total > 0) allgatherv(c, input, output, all.where(), total);
    });
} catch (const std::bad_alloc &) { // for the places of many parts
    return no_memory("sea_allgatherv");
}

int sea_alltoallv(sea_team handle, const void *input, const size_t *input_bytes, const size_t *input_offsets,
                  void *output, const size_t *output_bytes, const size_t *output_offsets)
try {
    const char *name = "sea_alltoallv";
    std::shared_ptr<team> t;
    if (int status = member_of(name, handle, &t)) return status;
    description in("input", input, input_bytes, input_offsets), out("output", output, output_bytes, output_offsets);
    if (int status = in.check(name, t->who.size())) return status;
    if (int status = out.check(name, t->who.size())) return status;
    if (int status = out.check_apart(name, t->who.size())) return status;
    if (in.bytes(t->me) != out.bytes(t->me))
        return fail(SEA_ERR_INVALID, "{}: the caller's own part has {} bytes in its input, {} in its output", name,
                    in.bytes(t->me), out.bytes(t->me));
    if (int status = check_buffers(name, {in.first(), in.extent(), out.first(), out.extent()}, false)) return status;
    return run(name, *t, {.what = kind::alltoallv},
               [&](call &c) { alltoallv(c, input, in.where(), output, out.where()); });
} catch (const std::bad_alloc &) { // for the places of many parts
    return no_memory("sea_alltoallv");
}
