#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// libunwind as the second opinion: through its remote interface with accessors of our own, so that it takes
// no lock of the loader's and keeps no rules from one question to the next.
namespace culprit::unwind::testing {

/// Prepares the address space; before the first question, and not while the program is stopped (allocates).
void prepare_reference();

/// The call stack of a stopped thread, innermost first; `pc` has room for `capacity` frames. Returns the
/// depth. `registers`: by DWARF's numbers, the last is the pc. [stack_low, stack_high) can be read for sure.
std::size_t ask_reference(std::span<const std::uint64_t> registers, std::uint64_t stack_low,
                          std::uint64_t stack_high, std::uint64_t* pc, std::size_t capacity);

}  // namespace culprit::unwind::testing
