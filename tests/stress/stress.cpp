// Does at once, in threads, everything that is known to break samplers, and prints one checksum per part: the
// same lines measured and unmeasured, however long it runs. What depends on the machine goes to standard
// error. Usage: stress SECONDS PLUGIN
#include "part.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace stress {

void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

namespace {

constexpr unsigned kThreads = 10'000;

struct Part {
  const char* name;
  Round round;
  unsigned long least;  ///< rounds that are done at least
  std::uint64_t checksum = 0;
  std::atomic<unsigned long> rounds{0};
  std::string error{};
};

Part parts[] = {{"throw_and_catch", throw_and_catch, 1},
                {"load_and_unload", load_and_unload, 1},
                {"allocate_and_free", allocate_and_free, 1},
                {"fork_and_exec", fork_and_exec, 1},
                {"create_and_end_threads", create_and_end_threads, kThreads / kThreadsPerRound},
                {"handle_on_alternate_stacks", handle_on_alternate_stacks, 1},
                {"jump_out", jump_out, 1},
                {"switch_coroutines", switch_coroutines, 1},
                {"block_and_unblock", block_and_unblock, 1}};

using Clock = std::chrono::steady_clock;

void repeat(Part& part, Clock::time_point end) {
  try {
    part.checksum = part.round();
    for (part.rounds = 1; part.rounds < part.least || Clock::now() < end; ++part.rounds) {
      if (part.round() != part.checksum) throw std::runtime_error("a round had another checksum");
    }
  } catch (const std::exception& error) {
    part.error = error.what();
  }
}

/// What the process holds of the kernel.
struct Holdings {
  long timers = 0, descriptors = 0, size_kb = 0, resident_kb = 0;
};

Holdings count_holdings() {
  Holdings held;
  std::ifstream timers("/proc/self/timers");
  for (std::string line; std::getline(timers, line);) held.timers += line.rfind("ID:", 0) == 0 ? 1 : 0;
  held.descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmSize:", 0) == 0) held.size_kb = std::atol(line.c_str() + 7);
    if (line.rfind("VmRSS:", 0) == 0) held.resident_kb = std::atol(line.c_str() + 6);
  }
  return held;
}

void report(const char* when, const Holdings& held) {
  std::fprintf(stderr, "stress: %s: %ld timers, %ld descriptors, %ld kB mapped, %ld kB resident\n", when,
               held.timers, held.descriptors, held.size_kb, held.resident_kb);
}

/// Runs all parts until `end`; the holdings are read when every part has done what it must.
void run_all(Clock::time_point end) {
  std::vector<std::thread> threads;
  for (Part& part : parts) threads.emplace_back([&part, end] { repeat(part, end); });
  const auto settled = [] {
    for (const Part& part : parts) {
      if (part.error.empty() && part.rounds < part.least) return false;
    }
    return true;
  };
  while (!settled()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  report("settled", count_holdings());
  for (std::thread& thread : threads) thread.join();
  report("end", count_holdings());
}

int print_results() {
  int status = 0;
  for (const Part& part : parts) {
    std::printf("%s %016llx%s%s\n", part.name, static_cast<unsigned long long>(part.checksum),
                part.error.empty() ? "" : " ", part.error.c_str());
    std::fprintf(stderr, "stress: %s: %lu rounds\n", part.name, part.rounds.load());
    if (!part.error.empty()) status = 1;
  }
  return status;
}

}  // namespace
}  // namespace stress

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], stress::kChild) == 0) {
    const unsigned long long result = stress::digest(std::strtoull(argv[2], nullptr, 10), 200'000);
    std::printf("%llu\n", result);
    return 0;
  }
  if (argc != 3) {
    std::fputs("usage: stress SECONDS PLUGIN\n", stderr);
    return 2;
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  stress::set_program(self.c_str());
  stress::set_plugin(argv[2]);
  const auto length =
      std::chrono::duration_cast<stress::Clock::duration>(std::chrono::duration<double>(std::atof(argv[1])));
  stress::run_all(stress::Clock::now() + length);
  return stress::print_results();
}
