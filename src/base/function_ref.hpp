// SPDX-License-Identifier: Apache-2.0
// Something that can be called and lives longer than this: no copy, no memory. (std::function_ref of C++26.)
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace onesea {

template <class Signature>
class function_ref;

template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
  public:
    template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref>)
        function_ref(Callable &&callable) // NOLINT: a lambda is to be given where this is asked for
        : callable_(const_cast<void *>(static_cast<const void *>(std::addressof(callable)))),
          call_([](void *it, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<Callable> *>(it))(std::forward<Arguments>(arguments)...);
          })
    {
    }
    Result operator()(Arguments... arguments) const { return call_(callable_, std::forward<Arguments>(arguments)...); }

  private:
    void *callable_;
    Result (*call_)(void *, Arguments...);
};

} // namespace onesea
