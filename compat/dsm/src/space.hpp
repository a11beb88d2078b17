// SPDX-License-Identifier: Apache-2.0
// What a node knows of the space: the size of each part and its read-only ranges. Every access is checked here.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace dsm {

enum class access { read, write, write_b, update };

class space {
  public:
    explicit space(std::vector<std::uint64_t> sizes) : sizes_(std::move(sizes)), read_only_(sizes_.size()) {}

    int nodes() const { return static_cast<int>(sizes_.size()); }
    std::uint64_t size_of(int node) const { return sizes_[static_cast<std::size_t>(node)]; }
    bool has(int node) const { return node >= 0 && node < nodes(); }
    std::uint64_t total() const;

    // DSM_OK, or what is wrong with the access, with words.
    int check(access kind, int node, std::uint64_t address, std::uint64_t length) const
    {
        const auto n = static_cast<std::size_t>(static_cast<unsigned>(node));
        if (n < sizes_.size() && length <= sizes_[n] && address <= sizes_[n] - length &&
            (kind == access::read || read_only_[n].empty()))
            return 0;
        return explain(kind, node, address, length);
    }

    // The range lies inside the node's part.
    void protect(int node, std::uint64_t address, std::uint64_t length, bool read_only);

  private:
    using ranges = std::map<std::uint64_t, std::uint64_t>; // beginning -> end; they neither overlap nor touch

    int explain(access kind, int node, std::uint64_t address, std::uint64_t length) const;

    std::vector<std::uint64_t> sizes_;
    std::vector<ranges> read_only_;
};

} // namespace dsm
