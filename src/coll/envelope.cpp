// SPDX-License-Identifier: Apache-2.0
#include "coll/envelope.hpp"

#include <fmt/format.h>

namespace onesea::coll {
namespace {

constexpr const char *type_names[] = {"int8",   "uint8", "int16",  "uint16", "int32",
                                      "uint32", "int64", "uint64", "float",  "double"};
constexpr const char *op_names[] = {"sum", "product", "minimum", "maximum", "and", "or", "xor"};

const char *type_name(unsigned type) { return type < std::size(type_names) ? type_names[type] : "unknown"; }
const char *op_name(unsigned op) { return op < std::size(op_names) ? op_names[op] : "unknown"; }

} // namespace

std::string describe(const signature &s)
{
    switch (s.what) {
    case kind::barrier:
        return "barrier";
    case kind::broadcast:
        return fmt::format("broadcast of {} bytes from member {}", s.size, s.root);
    case kind::reduce:
        return fmt::format("reduce of {} {} ({}) to member {}", s.size, type_name(s.type), op_name(s.op), s.root);
    case kind::allreduce:
        return fmt::format("allreduce of {} {} ({})", s.size, type_name(s.type), op_name(s.op));
    case kind::gather:
        return fmt::format("gather of {} bytes each to member {}", s.size, s.root);
    case kind::allgather:
        return fmt::format("allgather of {} bytes each", s.size);
    case kind::scatter:
        return fmt::format("scatter of {} bytes each from member {}", s.size, s.root);
    case kind::alltoall:
        return fmt::format("alltoall of {} bytes each", s.size);
    case kind::split:
        return "split";
    case kind::gatherv:
        return fmt::format("gatherv to member {}", s.root);
    case kind::scatterv:
        return fmt::format("scatterv from member {}", s.root);
    case kind::allgatherv:
        return fmt::format("allgatherv of {} bytes in all", s.size);
    case kind::alltoallv:
        return "alltoallv";
    case kind::scan:
        return fmt::format("scan of {} {} ({})", s.size, type_name(s.type), op_name(s.op));
    case kind::exscan:
        return fmt::format("exscan of {} {} ({})", s.size, type_name(s.type), op_name(s.op));
    case kind::reduce_scatter:
        return fmt::format("reduce_scatter of {} {} each ({})", s.size, type_name(s.type), op_name(s.op));
    case kind::look:
        return "look";
    case kind::notice:
        return "notice";
    }
    return fmt::format("unknown collective {}", unsigned(s.what));
}

} // namespace onesea::coll
