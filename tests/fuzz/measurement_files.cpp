#include "file_formats.hpp"
#include "measurement/measurement.hpp"
#include "measurement/watch_live.hpp"
#include "memory_file.hpp"
#include "trace_validity.hpp"
#include "validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// Any bytes give a valid file of a run or a MeasurementError. Each input is read as it stands, and as the
// whole file that it stands for. One fuzzer for each of the files below: CULPRIT_FUZZED.
namespace {

void read_measurement(const std::string& path) {
  if (!validity::invalid(culprit::measurement::Reader().read(path)).empty()) abort();
}

/// Who watches a file looks more than once.
void watch(const std::string& path) {
  culprit::measurement::LiveWatch watch(path);
  culprit::measurement::LiveWatch::Scratch scratch;
  for (int look = 0; look < 2 && watch.look(scratch, 0); ++look) {
    for (const auto& thread : watch.threads()) {
      for (std::size_t i = 1; i < thread.contexts.size(); ++i)
        if (thread.contexts[i].parent >= i) abort();
      for (const auto& gain : thread.gains)
        if (gain.context >= thread.contexts.size()) abort();
      for (const auto& count : thread.calls)
        if (count.context >= thread.contexts.size()) abort();
    }
  }
}

void read_live(const std::string& path) {
  try {
    watch(path);
  } catch (const culprit::measurement::MeasurementError&) {
  }
  read_measurement(path);
}

void read_trace(const std::string& path) {
  if (!validity::invalid_trace(path).empty()) abort();
}

fuzz::Bytes mended(const fuzz::Bytes& bytes) {
  fuzz::Bytes whole = bytes;
  validity::mend(whole);
  return whole;
}

struct File {
  const fuzz::Format& format;
  fuzz::Bytes (*whole)(const fuzz::Bytes& input);
  void (*read)(const std::string& path);
};

[[maybe_unused]] constexpr File sealed{fuzz::kSealed, mended, read_measurement};
[[maybe_unused]] constexpr File live{fuzz::kLive, fuzz::expand_live, read_live};
[[maybe_unused]] constexpr File trace{fuzz::kTrace, fuzz::expand_trace, read_trace};

void read(const fuzz::Bytes& bytes) {
  try {
    CULPRIT_FUZZED.read(memory_file(bytes));
  } catch (const culprit::measurement::MeasurementError&) {
    return;
  }
}

}  // namespace

FUZZ_MUTATE_BY(CULPRIT_FUZZED.format)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes bytes = fuzz::bytes_of(data, size);
  read(bytes);
  read(CULPRIT_FUZZED.whole(bytes));
  return 0;
}
