// SPDX-License-Identifier: Apache-2.0
#include "base/function_ref.hpp"

#include <gtest/gtest.h>
#include <string>

namespace onesea {
namespace {

int twice(function_ref<int(int)> f, int x) { return f(f(x)); }

TEST(FunctionRefTest, calls_what_it_was_given)
{
    int calls = 0;
    auto add = [&](int x) { return ++calls, x + 10; };
    EXPECT_EQ(twice(add, 1), 21);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(twice([](int x) { return x * 3; }, 2), 18);
}

TEST(FunctionRefTest, refers_and_does_not_copy)
{
    auto count = [n = 0](int x) mutable { return x + ++n; };
    EXPECT_EQ(twice(count, 0), 3);
    EXPECT_EQ(count(0), 3);
    const auto always = [](int) { return 7; };
    const function_ref<int(int)> first = always, second = first;
    EXPECT_EQ(second(1), 7);
}

TEST(FunctionRefTest, hands_on_what_it_gets)
{
    std::string taken;
    auto take = [&](std::string text, std::string &out) { out = std::move(text); };
    const function_ref<void(std::string, std::string &)> f = take;
    f("some text that is too long for the string itself", taken);
    EXPECT_EQ(taken, "some text that is too long for the string itself");
}

} // namespace
} // namespace onesea
