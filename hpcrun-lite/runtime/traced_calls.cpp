// What the MPI wrappers hand over for the time line of a thread.
#include "runtime/api.hpp"

using namespace culprit::measurement::trace;

std::atomic<bool> culprit_rt_tracing{false};

bool culprit_rt_traced() {
  return false;
}

void culprit_rt_trace_call(std::uint64_t enter_ns, std::uint64_t exit_ns, const Operation* operations,
                           std::size_t count, bool any) {
  if (!culprit_rt_trace_begin(enter_ns, exit_ns, any)) return;
  culprit_rt_trace_operations(operations, count);
  culprit_rt_trace_end();
}

// Time lines are not recorded yet.
bool culprit_rt_trace_begin(std::uint64_t /*enter_ns*/, std::uint64_t /*exit_ns*/, bool /*any*/) {
  return false;
}

void culprit_rt_trace_operations(const Operation* /*operations*/, std::size_t /*count*/) {}

void culprit_rt_trace_end() {}

Context culprit_rt_trace_define(const CulpritDefinition* /*definition*/) {
  return kNoContext;
}

void culprit_rt_trace_clock(const ClockPair* /*pair*/) {}
