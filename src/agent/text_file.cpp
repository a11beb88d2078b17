// SPDX-License-Identifier: Apache-2.0
#include "agent/text_file.hpp"

#include "agent/hosts.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>

namespace onesea::agent {
namespace {

constexpr std::size_t longest = std::size_t(16) << 20; // devices have no end

} // namespace

std::string read_text_file(std::string_view what, const std::string &path)
{
    const std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(path.c_str(), "re"), fclose);
    std::string text;
    std::array<char, 4096> piece;
    for (std::size_t n = 1; file && n > 0 && text.size() <= longest; text.append(piece.data(), n))
        n = fread(piece.data(), 1, piece.size(), file.get());
    if (text.size() > longest)
        throw request_error(fmt::format("the {} '{}' has more than {} MiB", what, path, longest >> 20));
    if (!file || ferror(file.get())) // of a directory only reading tells
        throw request_error(fmt::format("the {} '{}' cannot be read: {}", what, path, strerror(errno)));
    return text;
}

} // namespace onesea::agent
