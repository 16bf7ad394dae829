#pragma once

#include <cstddef>

namespace culprit::runtime {

/// Descriptors of perf events that an exec would hand on, as PAPI leaves them.
struct PerfDescriptors {
  static constexpr std::size_t kMax =
      32;  ///< 8 events of a thread, and as many again that others open meanwhile
  int numbers[kMax];
  std::size_t count;

  [[nodiscard]] bool has(int number) const;
};

/// All of the process, as /proc lists them; the first kMax. Async-signal-safe.
void find_perf_descriptors(PerfDescriptors& found);

/// Lets exec close those of `after` that are not in `before`, and keeps only them in `after`.
/// Async-signal-safe.
void close_on_exec(const PerfDescriptors& before, PerfDescriptors& after);

/// Lets none of these events send a signal, and lets each send one more. Async-signal-safe.
void silence(const PerfDescriptors& events);
void resume(const PerfDescriptors& events);

}  // namespace culprit::runtime
