#pragma once

// A small program that goes through everything that makes unwinding hard. Compiled several times with
// different options, and single-stepped by single_step_test.cpp.
namespace culprit::unwind::testing {

// In assembly with call-frame information: the tracing itself is stepped through as well.
extern "C" {
/// Traces this thread instruction by instruction from now on (the caller has installed a SIGTRAP handler).
void culprit_start_stepping();
/// Ends it.
void culprit_stop_stepping();
}

/// One part of the program: returns something that depends on the work.
struct SteppedPart {
  const char* name;
  long (*run)(int);
};

inline constexpr int kSteppedParts = 10;

const SteppedPart* stepped_parts_plain();
const SteppedPart* stepped_parts_optimized();
const SteppedPart* stepped_parts_framed();
const SteppedPart* stepped_parts_vectorized();

}  // namespace culprit::unwind::testing
