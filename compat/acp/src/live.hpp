// SPDX-License-Identifier: Apache-2.0
// The objects that a program has handles of. A handle is the object's address; it is looked up before it is used, so
// that a stale or wild one is an error. What has been freed leaves nothing behind.
#pragma once

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
        T *handle = object.get();
        std::lock_guard lock(mutex_);
        all_.emplace(handle, std::move(object));
        return handle;
    }

    // nullptr if there is none.
    std::shared_ptr<T> find(const T *handle)
    {
        std::lock_guard lock(mutex_);
        auto place = all_.find(handle);
        return place == all_.end() ? nullptr : place->second;
    }

    std::shared_ptr<T> take(const T *handle)
    {
        std::lock_guard lock(mutex_);
        auto place = all_.find(handle);
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
    std::unordered_map<const T *, std::shared_ptr<T>> all_;
};

} // namespace acp
