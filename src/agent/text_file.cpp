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

std::string read_text_file(std::string_view what, const std::string &path)
{
    const std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(path.c_str(), "re"), fclose);
    std::string text;
    std::array<char, 4096> piece;
    for (std::size_t n = 1; file && n > 0; text.append(piece.data(), n))
        n = fread(piece.data(), 1, piece.size(), file.get());
    if (!file || ferror(file.get())) // of a directory only reading tells
        throw request_error(fmt::format("the {} '{}' cannot be read: {}", what, path, strerror(errno)));
    return text;
}

} // namespace onesea::agent
