// SPDX-License-Identifier: Apache-2.0
// A fuzzer without libFuzzer, for every compiler: replay FOLDER [RUNS]. Runs what a corpus holds, then RUNS inputs made
// of it by chance (always the same ones). A crash leaves the input that caused it in crash-NUMBER.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

using bytes = std::vector<std::uint8_t>;

const bytes *running = nullptr;
unsigned long number = 0;

void keep_input(int signal)
{
    if (running) {
        std::string name = "crash-" + std::to_string(number);
        if (FILE *f = std::fopen(name.c_str(), "wb")) {
            std::fwrite(running->data(), 1, running->size(), f);
            std::fclose(f);
            std::fprintf(stderr, "input %lu ended with signal %d; it is kept in %s\n", number, signal, name.c_str());
        }
    }
    std::signal(signal, SIG_DFL);
    raise(signal);
}

void run(const bytes &input)
{
    running = &input;
    LLVMFuzzerTestOneInput(input.data(), input.size());
    running = nullptr;
    ++number;
}

bytes changed(const std::vector<bytes> &start, std::mt19937_64 &random)
{
    bytes b = start[random() % start.size()];
    constexpr std::uint8_t edges[] = {0, 1, 7, 8, 0x7f, 0x80, 0xfe, 0xff};
    for (auto n = random() % 5; n > 0 && !b.empty(); --n)
        b[random() % b.size()] = random() % 2 ? std::uint8_t(random()) : edges[random() % 8];
    if (random() % 4 == 0) { // the rest of another one
        const bytes &other = start[random() % start.size()];
        b.resize(random() % (b.size() + 1));
        if (!other.empty()) b.insert(b.end(), other.begin() + std::ptrdiff_t(random() % other.size()), other.end());
    }
    if (random() % 4 == 0) b.resize(random() % (b.size() + 64));
    return b;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [RUNS]\n", argv[0]), 2;
    for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, keep_input);
    std::vector<std::filesystem::path> files;
    for (auto &entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<bytes> corpus;
    for (auto &file : files) {
        std::ifstream in(file, std::ios::binary);
        corpus.emplace_back((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    if (corpus.size() < 5) return std::fprintf(stderr, "%s: the corpus is gone\n", argv[1]), 1;
    for (const bytes &input : corpus) run(input);
    std::mt19937_64 random(1);
    for (unsigned long left = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0; left > 0; --left)
        run(changed(corpus, random));
    std::printf("%zu inputs of the corpus and %lu others\n", corpus.size(), number - corpus.size());
}
