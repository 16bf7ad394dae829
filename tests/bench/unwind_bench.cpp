#include "unwind/walker.hpp"

#include <cstdint>
#include <memory>

#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

// ns per walk with warm caches, at given depths: afresh, and spliced where the innermost two frames change
// each time.

namespace {

using namespace culprit::unwind;

bool find_module(void* /*context*/, std::uint64_t pc, CodeModule& module) {
  dl_find_object found{};
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return false;
  module.begin = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
  module.end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
  module.bias = found.dlfo_link_map->l_addr;
  module.eh_frame_hdr = reinterpret_cast<std::uint64_t>(found.dlfo_eh_frame);
  module.index = 1;
  return true;
}

std::unique_ptr<Walker> make_walker() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  auto walker = std::make_unique<Walker>();
  const auto begin = reinterpret_cast<std::uint64_t>(low);
  walker->reset(find_module, nullptr, begin, begin + size);
  return walker;
}

struct Task {
  Walker* walker;
  bool splice;
  std::size_t depth;   // that the innermost frame shall have
  std::size_t walked;  // that it had
};

[[gnu::noinline]] std::size_t leaf(Task& task) {
  if (!task.splice) task.walker->forget_path();
  task.walked = task.walker->walk(registers_here()).depth;
  return task.walked;
}

// Two call sites, so that every walk differs from the one before in its innermost frames.
[[gnu::noinline]] std::size_t near_leaf(Task& task, bool odd) {
  if (odd) return leaf(task) + 1;
  return leaf(task) + 2;
}

[[gnu::noinline]] void measure(benchmark::State& state, Task& task) {
  bool odd = false;
  for (auto _ : state) {
    benchmark::DoNotOptimize(near_leaf(task, odd));
    odd = !odd;
  }
}

// Frames of different shapes: some save registers, some have locals.
[[gnu::noinline]] std::size_t descend(benchmark::State& state, Task& task, std::size_t levels) {
  if (levels == 0) {
    measure(state, task);
    return 1;
  }
  std::uint64_t local[6] = {levels, task.depth};
  benchmark::DoNotOptimize(local);
  if (levels % 2 == 0) return descend(state, task, levels - 1) + local[0];
  const std::size_t below = descend(state, task, levels - 1);
  return below * task.depth + local[1];
}

void walk_at_depth(benchmark::State& state, bool splice) {
  const auto walker = make_walker();
  Task task{.walker = walker.get(),
            .splice = splice,
            .depth = static_cast<std::size_t>(state.range(0)),
            .walked = 0};
  const std::size_t fixed = leaf(task) + 2;  // near_leaf, measure; descend() itself is the wanted rest
  if (task.depth <= fixed) {
    measure(state, task);
  } else {
    benchmark::DoNotOptimize(descend(state, task, task.depth - fixed - 1));
  }
  state.counters["frames"] = static_cast<double>(task.walked);
}

void walk_afresh(benchmark::State& state) {
  walk_at_depth(state, false);
}
void walk_spliced(benchmark::State& state) {
  walk_at_depth(state, true);
}

BENCHMARK(walk_afresh)->Arg(10)->Arg(22)->Arg(62);
BENCHMARK(walk_spliced)->Arg(10)->Arg(22)->Arg(62);

}  // namespace

BENCHMARK_MAIN();
