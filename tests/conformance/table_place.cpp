// SPDX-License-Identifier: Apache-2.0
#include "table_place.hpp"

#include <cstring>

using namespace proof;

sea_table shared_table(run &t, sea_table_kind kind, std::size_t slots, int maker)
{
    sea_table table{SEA_NULL, std::uint64_t(t.size), slots};
    std::vector<int> ranks;
    for (int r = 0; r < t.size; ++r) ranks.push_back((r + maker) % t.size);
    if (t.rank == maker) REQUIRE_OK(sea_table_create(kind, ranks.data(), t.size, slots, (maker + 1) % t.size, &table));
    table.address = t.exchange(table.address)[std::size_t(maker)];
    return table;
}

void drop_table(run &t, sea_table table, int dropper)
{
    t.sync();
    if (t.rank == dropper) CHECK_OK(sea_table_destroy(table));
    t.sync();
}

std::uint64_t sum_over_ranks(run &t, std::uint64_t mine)
{
    std::uint64_t sum = 0;
    for (std::uint64_t n : t.exchange(mine)) sum += n;
    return sum;
}

std::string value_of(sea_table table, const std::string &key, int *status)
{
    std::string value(64, ' ');
    std::size_t bytes = 0;
    int found = 0;
    int s = sea_table_get(table, of(key), value.data(), value.size(), &bytes, &found);
    if (s == SEA_OK && bytes > value.size()) {
        value.resize(bytes);
        s = sea_table_get(table, of(key), value.data(), value.size(), &bytes, &found);
    }
    if (status)
        *status = s;
    else
        CHECK_OK(s);
    value.resize(std::min(bytes, value.size()));
    return found ? value : "absent";
}

std::map<std::string, std::string> contents(sea_table table, sea_table_scope scope, std::size_t room)
{
    std::map<std::string, std::string> all;
    sea_table_scan scan;
    REQUIRE_OK(sea_table_scan_start(table, scope, &scan));
    std::vector<std::uint64_t> buffer(room / 8);
    for (std::size_t items = 1; items;) {
        int s = sea_table_scan_next(&scan, buffer.data(), buffer.size() * 8, &items);
        if (s == SEA_ERR_MEMORY) {
            buffer.resize((items + 7) / 8);
            continue;
        }
        REQUIRE_OK(s);
        auto *item = reinterpret_cast<const sea_table_item *>(buffer.data());
        for (std::size_t i = 0; i < items; ++i, item = sea_table_item_next(item)) {
            std::string key(static_cast<const char *>(sea_table_item_key(item)), item->key_bytes);
            std::string value(static_cast<const char *>(sea_table_item_value(item)), item->value_bytes);
            CHECK(all.emplace(key, value).second);
        }
    }
    return all;
}

// True if the call was carried out; a rank that died while it ran may have done either.
bool table_model::told(const std::string &key, int status)
{
    if (status == SEA_ERR_DEAD && !dead.empty()) {
        lost[key] = status;
        model.erase(key);
        return false;
    }
    return CHECK_OK(status);
}

void table_model::act()
{
    const std::string key = own + std::to_string(random.below(200));
    const std::string value(random.below(8) ? 8 : random.below(3000), char('a' + random.below(26)));
    const bool there = model.count(key);
    int done = -1;
    std::uint64_t n = 7;
    switch (random.below(6)) {
    case 0:
        if (!told(key, sea_table_insert(table, of(key), of(value), &done))) return;
        CHECK_EQ(!there, done);
        model.emplace(key, value);
        return;
    case 1:
        if (!told(key, sea_table_store(table, of(key), of(value), &done))) return;
        CHECK_EQ(!there, done);
        model[key] = value;
        return;
    case 2:
        if (!told(key, sea_table_remove(table, of(key), &n))) return;
        CHECK_EQ(there, n);
        model.erase(key);
        return;
    case 3:
        if (!told(key, sea_table_count(table, of(key), &n))) return;
        CHECK_EQ(there, n);
        return;
    case 4: {
        if (there && model[key].size() != 8) return;
        std::uint64_t before = 0, was = 0;
        if (there) std::memcpy(&was, model[key].data(), 8);
        if (!told(key, sea_table_add(table, of(key), 3, &before))) return;
        CHECK_EQ(was, before);
        was += 3;
        model[key] = std::string(reinterpret_cast<char *>(&was), 8);
        return;
    }
    default: {
        int status;
        const std::string got = value_of(table, key, &status);
        if (!told(key, status)) return;
        CHECK(got == (there ? model[key] : "absent"));
    }
    }
}

void table_model::compare()
{
    for (int i = 0; i < 200; ++i) {
        const std::string key = own + std::to_string(i);
        int status;
        const std::string got = value_of(table, key, &status);
        if (told(key, status)) CHECK(got == (model.count(key) ? model[key] : "absent"));
    }
}
