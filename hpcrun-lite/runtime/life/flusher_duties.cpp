#include "runtime/life/flusher_duties.hpp"

#include "runtime/process/scheduling.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/state/measurement.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/text.hpp"

#include <cstring>

namespace culprit::runtime {
namespace {

// All of the thread's own; the process has one at a time.
bool separate = false;          // it has a table of descriptors of its own
bool hold_measurement = false;  // the file is yet to be kept open there
bool hold_trace = false;        // and so is the trace
std::uint64_t full_noted = 0;   // the process whose measurement says that it does not grow any more

void note_no_space(int error) {
  const auto id = static_cast<std::uint64_t>(process.pid);
  if (error == 0 || full_noted == id) return;
  full_noted = id;
  Text<256> line;
  line.add("no further space for the measurement: ").add(strerrordesc_np(error));
  file.note(line.c_str());
}

void begin(bool own_descriptors) {
  separate = own_descriptors;
  hold_measurement = separate;
  hold_trace = separate && process.traced;
}

void take_turn() {
  if (separate && file_is_wanted()) ensure_file();
  if (!file.open()) return;
  if (hold_measurement) hold_measurement = file.hold() != 0;
  note_schedules(now());
  look_at_owners();
  note_no_space(file.maintain(now()));
  if (hold_trace) hold_trace = trace_file.hold() != 0;
  maintain_trace();
}

}  // namespace

FlusherDuties flusher_duties() {
  return {.begin = begin, .turn = take_turn, .look = look_at_parked_threads};
}

}  // namespace culprit::runtime
