// SPDX-License-Identifier: Apache-2.0
#include "coll/reduction.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace onesea::coll {
namespace {

// Wide and unsigned, so that no sum or product of integers overflows a signed type on the way.
template <class T>
using work = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

struct sum {
    template <class T>
    static T of(T a, T b)
    {
        return T(work<T>(a) + work<T>(b));
    }
};
struct product {
    template <class T>
    static T of(T a, T b)
    {
        return T(work<T>(a) * work<T>(b));
    }
};
struct minimum {
    template <class T>
    static T of(T a, T b)
    {
        return b < a ? b : a;
    }
};
struct maximum {
    template <class T>
    static T of(T a, T b)
    {
        return a < b ? b : a;
    }
};
struct bit_and {
    template <class T>
    static T of(T a, T b)
    {
        return T(a & b);
    }
};
struct bit_or {
    template <class T>
    static T of(T a, T b)
    {
        return T(a | b);
    }
};
struct bit_xor {
    template <class T>
    static T of(T a, T b)
    {
        return T(a ^ b);
    }
};

template <class T, class Op>
void combine(void *into, const void *low, const void *high, std::size_t count)
{
    auto *out = static_cast<char *>(into);
    auto *a = static_cast<const char *>(low), *b = static_cast<const char *>(high);
    for (std::size_t i = 0; i < count * sizeof(T); i += sizeof(T)) {
        T x, y;
        std::memcpy(&x, a + i, sizeof(T));
        std::memcpy(&y, b + i, sizeof(T));
        x = Op::template of<T>(x, y);
        std::memcpy(out + i, &x, sizeof(T));
    }
}

template <class T>
combine_fn choose(sea_reduce_op op)
{
    switch (op) {
    case SEA_SUM:
        return combine<T, sum>;
    case SEA_PROD:
        return combine<T, product>;
    case SEA_MIN:
        return combine<T, minimum>;
    case SEA_MAX:
        return combine<T, maximum>;
    default:
        break;
    }
    if constexpr (std::is_integral_v<T>) {
        switch (op) {
        case SEA_BAND:
            return combine<T, bit_and>;
        case SEA_BOR:
            return combine<T, bit_or>;
        case SEA_BXOR:
            return combine<T, bit_xor>;
        default:
            break;
        }
    }
    return nullptr;
}

} // namespace

std::size_t type_width(sea_type type)
{
    switch (type) {
    case SEA_INT8:
    case SEA_UINT8:
        return 1;
    case SEA_INT16:
    case SEA_UINT16:
        return 2;
    case SEA_INT32:
    case SEA_UINT32:
    case SEA_FLOAT:
        return 4;
    case SEA_INT64:
    case SEA_UINT64:
    case SEA_DOUBLE:
        return 8;
    }
    return 0;
}

bool is_bitwise(sea_reduce_op op) { return op == SEA_BAND || op == SEA_BOR || op == SEA_BXOR; }

combine_fn combiner(sea_type type, sea_reduce_op op)
{
    switch (type) {
    case SEA_INT8:
        return choose<std::int8_t>(op);
    case SEA_UINT8:
        return choose<std::uint8_t>(op);
    case SEA_INT16:
        return choose<std::int16_t>(op);
    case SEA_UINT16:
        return choose<std::uint16_t>(op);
    case SEA_INT32:
        return choose<std::int32_t>(op);
    case SEA_UINT32:
        return choose<std::uint32_t>(op);
    case SEA_INT64:
        return choose<std::int64_t>(op);
    case SEA_UINT64:
        return choose<std::uint64_t>(op);
    case SEA_FLOAT:
        return choose<float>(op);
    case SEA_DOUBLE:
        return choose<double>(op);
    }
    return nullptr;
}

} // namespace onesea::coll
