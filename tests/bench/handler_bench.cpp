#include "measurement/live.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/python_frames.hpp"
#include "runtime/recording/region_names.hpp"
#include "runtime/recording/regions.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <emmintrin.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

// What one run of the sampling handler costs beside the kernel's delivery of the signal: from the interrupted
// registers over the walk with its verified splice to the call path's node and the sample recorded there, in
// a tree that lies in a mapped file. Every sample differs from the one before in its innermost three frames.
//
// Three states of the caches between samples:
//   warm     nothing happens between two samples
//   L2       32 MiB are read in between: L1, L2 and the TLBs hold nothing of ours, the last-level cache may
//   memory   besides, every line of ours (code, tree, walker, stack) is flushed to memory before
//
// Usage: bench_handler [--json]

namespace culprit::runtime {

// The part of the runtime that finds modules, for a program that is not preloaded into.
std::uint32_t module_generation() {
  return 1;
}

bool find_module(void* /*context*/, std::uint64_t address, unwind::CodeModule& module) {
  dl_find_object found{};
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  module.begin = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
  module.end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
  module.bias = found.dlfo_link_map->l_addr;
  module.eh_frame_hdr = reinterpret_cast<std::uint64_t>(found.dlfo_eh_frame);
  module.index = static_cast<std::uint32_t>(module.begin >> 12) & 0xff;
  return true;
}

// It marks no regions.
const OpenRegion* region_at(const Regions& /*regions*/, const RegionPlace& /*place*/,
                            std::uint32_t& /*next*/) {
  return nullptr;
}

std::uint32_t region_module(RegionName /*name*/) {
  return culprit::cct::kNoModule;
}

// No interpreter runs in it.
bool python_runs(const Thread* /*thread*/) {
  return false;
}

void read_python_chain(Thread*, PythonChain& /*chain*/) {}

std::uint64_t hash_of(const PythonChain& /*chain*/) {
  return 0;
}

void keep_python_chain(Thread* /*thread*/, PythonChain& /*chain*/) {}

}  // namespace culprit::runtime

__thread CulpritThread culprit_rt_thread;  // NOLINT: thread-local and zero

// It marks no calls.
bool culprit_rt_left_behind(std::uintptr_t /*here*/) {
  return false;
}

extern "C" const char __executable_start, end;  // NOLINT: the linker's names

namespace {

using culprit::measurement::LiveFile;
using culprit::measurement::NodeIndex;
using culprit::measurement::SampleValues;
using culprit::runtime::Thread;
using culprit::unwind::Registers;

constexpr std::size_t kLine = 64;
constexpr std::size_t kBuffer = std::size_t{32} << 20;
constexpr std::size_t kTreeBytes = 127 * 1024;  // of the 128 KiB that a main thread starts with

constexpr std::uint64_t kHandlerDepth =
    8192;  // of stack below the measuring loop, which handler and callees use

enum class Caches { warm, evicted, flushed };

std::uint64_t ticks() {
  _mm_lfence();
  const std::uint64_t time = __rdtsc();
  _mm_lfence();
  return time;
}

/// The time-stamp counter's rate, against the monotonic clock.
double ns_per_tick() {
  const std::uint64_t begin_ns = culprit::runtime::now();
  const std::uint64_t begin = ticks();
  while (culprit::runtime::now() - begin_ns < 50'000'000) {
  }
  return static_cast<double>(culprit::runtime::now() - begin_ns) / static_cast<double>(ticks() - begin);
}

double median(std::vector<std::uint64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

class Bench {
 public:
  Bench() : buffer_(kBuffer / sizeof(std::uint64_t), 1) {
    void* memory = mmap(nullptr, sizeof(Thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    thread_ = static_cast<Thread*>(memory);
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* low = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    stack_high_ = reinterpret_cast<std::uint64_t>(low) + size;
    thread_->walker.reset(culprit::runtime::find_module, nullptr, stack_high_ - size, stack_high_);
    thread_->main = true;
    thread_->modules_seen = culprit::runtime::module_generation();
    open_file();
  }

  /// One handler run, as if it had interrupted the caller at `here`.
  [[gnu::noinline]] void sample(const Registers& here) {
    auto& general = context_.uc_mcontext.gregs;
    general[REG_RIP] = static_cast<greg_t>(here.pc);
    general[REG_RSP] = static_cast<greg_t>(here.sp);
    general[REG_RBP] = static_cast<greg_t>(here.bp);
    general[REG_RBX] = static_cast<greg_t>(here.bx);
    const std::uint64_t begin = ticks();
    handle(&context_);
    samples_.push_back(ticks() - begin);
  }

  /// What stands between two samples.
  void pass(Caches caches) {
    if (caches == Caches::warm) return;
    if (caches == Caches::flushed) {
      flush(thread_, sizeof *thread_);
      flush(thread_->tree, sizeof *thread_->tree);
      flush(&thread_->tree->header(), kTreeBytes);
      flush(&__executable_start, static_cast<std::size_t>(&end - &__executable_start));
      const auto low = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) - kHandlerDepth;
      flush(reinterpret_cast<const void*>(low), stack_high_ - low);
      _mm_mfence();
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < buffer_.size(); i += kLine / sizeof(std::uint64_t)) sum += buffer_[i];
    buffer_[0] = sum | 1;
  }

  std::vector<std::uint64_t>& samples() { return samples_; }
  [[nodiscard]] std::size_t depth() const { return thread_->walker.depth(); }

  /// How many samples the tree holds.
  [[nodiscard]] std::uint64_t recorded() const { return thread_->tree->header().samples; }
  [[nodiscard]] std::uint64_t partial() const { return thread_->tree->header().partial; }

 private:
  [[gnu::noinline]] void handle(const void* context) {
    const Registers start = culprit::unwind::registers_of(context);
    culprit::runtime::WalkFlaws flaws;
    const NodeIndex node = culprit::runtime::current_path(thread_, start, flaws);
    if (flaws.any()) [[unlikely]]
      culprit::runtime::count_flaws(thread_, flaws, 1);
    thread_->tree->record(node, SampleValues{.time_ns = 5'000'000, .weight = 1, .cpu_ns = 4'900'000});
  }

  static void flush(const void* begin, std::size_t size) {
    const char* at = static_cast<const char*>(begin);
    for (std::size_t i = 0; i < size; i += kLine) _mm_clflush(at + i);
  }

  void open_file() {
    char path[] = "/tmp/bench_handler.XXXXXX";
    const int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    unlink(path);
    static const culprit::measurement::ProcessDescription::Event events[] = {{"REALTIME", "ns", 5'000'000}};
    LiveFile& file = culprit::runtime::file;
    if (fd < 0 || file.create(path, {.program = "bench_handler", .events = events, .event_count = 1}) != 0) {
      std::perror("bench_handler: create a measurement in /tmp");
      std::exit(1);
    }
    thread_->tree = file.add_thread(1, true, {}, 0);
    unlink(path);
  }

  Thread* thread_ = nullptr;
  std::uint64_t stack_high_ = 0;
  ucontext_t context_{};
  std::vector<std::uint64_t> buffer_;
  std::vector<std::uint64_t> samples_;
};

std::uint32_t draw(std::uint32_t below) {
  static std::uint64_t state = 88172645463325252U;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<std::uint32_t>(state >> 33) % below;
}

// The innermost frames: 4 × 4 × 8 contexts, each function with an address of its own.
using Callee = std::uint32_t (*)(Bench&, std::uint32_t);
constexpr std::uint32_t kOuter = 4, kMiddle = 4, kLeaves = 8;

template <std::size_t N>
[[gnu::noinline]] std::uint32_t leaf(Bench& bench, std::uint32_t value) {
  bench.sample(culprit::unwind::registers_here());
  return value + static_cast<std::uint32_t>(N);
}
template <std::size_t... N>
constexpr std::array<Callee, sizeof...(N)> leaves(std::index_sequence<N...>) {
  return {leaf<N>...};
}
template <std::size_t N>
[[gnu::noinline]] std::uint32_t middle(Bench& bench, std::uint32_t value) {
  static constexpr auto kCallees = leaves(std::make_index_sequence<kLeaves>());
  return kCallees[draw(kLeaves)](bench, value + 1) * static_cast<std::uint32_t>(N + 3);
}
template <std::size_t... N>
constexpr std::array<Callee, sizeof...(N)> middles(std::index_sequence<N...>) {
  return {middle<N>...};
}
template <std::size_t N>
[[gnu::noinline]] std::uint32_t outer(Bench& bench, std::uint32_t value) {
  static constexpr auto kCallees = middles(std::make_index_sequence<kMiddle>());
  volatile std::uint32_t local[4] = {value};
  return kCallees[draw(kMiddle)](bench, value + 2) * static_cast<std::uint32_t>(N + 5) + local[0];
}
template <std::size_t... N>
constexpr std::array<Callee, sizeof...(N)> outers(std::index_sequence<N...>) {
  return {outer<N>...};
}
constexpr auto kOuters = outers(std::make_index_sequence<kOuter>());

struct Plan {
  Caches caches;
  std::size_t samples;
};

[[gnu::noinline]] std::uint32_t measure(Bench& bench, const Plan& plan) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < plan.samples; ++i) {
    bench.pass(plan.caches);
    sum += kOuters[draw(kOuter)](bench, sum);
  }
  return sum;
}

// Frames of different shapes: some save registers, some have locals.
[[gnu::noinline]] std::uint32_t descend(Bench& bench, const Plan& plan, std::size_t levels) {
  if (levels == 0) return measure(bench, plan);
  volatile std::uint64_t local[6] = {levels};
  if (levels % 2 == 0) return descend(bench, plan, levels - 1) + static_cast<std::uint32_t>(local[0]);
  const std::uint32_t below = descend(bench, plan, levels - 1);
  return below * static_cast<std::uint32_t>(levels) + static_cast<std::uint32_t>(local[1]);
}

struct State {
  const char* name;
  Caches caches;
  std::size_t samples;
};
constexpr State kStates[] = {
    {"warm", Caches::warm, 20000}, {"L2", Caches::evicted, 300}, {"memory", Caches::flushed, 300}};
constexpr std::size_t kWarmUp = 3000;  // until every context was met

double cost_of(void (*what)(), double scale, double floor) {
  std::vector<std::uint64_t> times;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t begin = ticks();
    what();
    times.push_back(ticks() - begin);
  }
  return std::max(0.0, median(times) * scale - floor);
}

void read_cpu_clock() {
  (void)culprit::runtime::thread_cpu_time();
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string_view(argv[1]) == "--json";
  Bench bench;
  bench.samples().reserve(kWarmUp + kStates[0].samples);
  const double scale = ns_per_tick();
  const double floor = cost_of([] {}, scale, 0);
  descend(bench, {Caches::warm, 100}, 0);
  const std::size_t fixed = bench.depth();
  std::printf(json ? "{\"runs\":[" : "ns per handler run (median; delivery and clocks apart)\n");
  const char* separator = "";
  for (const std::size_t depth : {std::size_t{10}, std::size_t{20}, std::size_t{60}}) {
    for (const State& state : kStates) {
      descend(bench, {Caches::warm, kWarmUp}, depth > fixed ? depth - fixed : 0);
      bench.samples().clear();
      descend(bench, {state.caches, state.samples}, depth > fixed ? depth - fixed : 0);
      const double ns = median(bench.samples()) * scale - floor;
      std::printf(json ? "%s{\"frames\":%zu,\"caches\":\"%s\",\"ns\":%.0f}" : "%s%4zu frames  %-7s %6.0f\n",
                  json ? separator : "", bench.depth(), state.name, ns);
      separator = ",";
    }
  }
  const double cpu_clock = cost_of(read_cpu_clock, scale, floor);
  const double clock = cost_of([] { (void)culprit::runtime::now(); }, scale, floor);
  std::printf(json ? "],\"cpu_clock_ns\":%.0f,\"clock_ns\":%.0f}\n"
                   : "apart: the read of the thread's CPU clock %.0f, of the monotonic clock %.0f\n",
              cpu_clock, clock);
  if (bench.partial() != 0 || bench.recorded() == 0) {
    std::fprintf(stderr, "bench_handler: %llu of %llu walks were partial\n",
                 static_cast<unsigned long long>(bench.partial()),
                 static_cast<unsigned long long>(bench.recorded()));
    return 1;
  }
}
