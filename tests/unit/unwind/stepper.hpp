#pragma once

// Single-steps this very program from a second process that shares its memory, and solves every instruction
// three ways: by a walker that splices, by one that walks afresh, and by libunwind. The shadow stack knows
// the truth.
namespace culprit::unwind::testing {

/// Starts the second process; from the program's first initializer, which is given the environment (the C
/// library does not know it yet). CULPRIT_STEPS says how many instructions of each part are stepped through
/// (0: all).
void start_stepper(const char* const* environment);

// In assembly: breakpoints, which the second process waits for.
extern "C" {
/// Steps through what this thread, and every thread that it starts, does from here on.
void stepped_begin(const char* part);
/// Until here: everything runs free.
void stepped_end();
}

/// The part in which the program ends; it is stepped through to the last instruction.
inline constexpr char kLastPart[] = "exit";

/// The part that begins before all initializers, on frames that nobody watched being made: the walk ends in
/// the dynamic linker's start code, which has no call-frame information.
inline constexpr char kFirstPart[] = "start";

/// Parts whose name begins so go through code without call-frame information, where guesses may fail.
inline constexpr char kBare[] = "bare";

/// Results of the program that depend on its work go here, lest it be optimized away.
extern volatile long stepped_sink;

}  // namespace culprit::unwind::testing
