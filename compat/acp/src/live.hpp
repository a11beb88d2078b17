// SPDX-License-Identifier: Apache-2.0
// The objects that a program has handles of. A handle is a number that is given out once, or, where the program reads
// the object's fields, its address; it is looked up before it is used, so that a wild one is an error, and a stale one
// too if it is a number. What has been freed leaves nothing behind.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace acp {

template <class T>
class live {
  public:
    T *add(std::shared_ptr<T> object)
    {
        std::lock_guard lock(mutex_);
        const std::uintptr_t number = ++last_;
        all_.emplace(number, std::move(object));
        return reinterpret_cast<T *>(number); // nobody follows it
    }

    T *add_readable(std::shared_ptr<T> object)
    {
        T *handle = object.get();
        std::lock_guard lock(mutex_);
        all_.emplace(key_of(handle), std::move(object));
        return handle;
    }

    // nullptr if there is none.
    std::shared_ptr<T> find(const T *handle)
    {
        std::lock_guard lock(mutex_);
        auto place = all_.find(key_of(handle));
        return place == all_.end() ? nullptr : place->second;
    }

    std::shared_ptr<T> take(const T *handle)
    {
        std::lock_guard lock(mutex_);
        auto place = all_.find(key_of(handle));
        if (place == all_.end()) return nullptr;
        auto object = std::move(place->second);
        all_.erase(place);
        if (all_.empty()) all_ = {}; // its table, too
        return object;
    }

    std::vector<std::shared_ptr<T>> take_all()
    {
        std::lock_guard lock(mutex_);
        std::vector<std::shared_ptr<T>> objects;
        for (auto &[handle, object] : all_) objects.push_back(std::move(object));
        all_ = {};
        return objects;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<std::uintptr_t, std::shared_ptr<T>> all_;
    std::uintptr_t last_ = 0;

    static std::uintptr_t key_of(const T *handle) { return reinterpret_cast<std::uintptr_t>(handle); }
};

} // namespace acp
