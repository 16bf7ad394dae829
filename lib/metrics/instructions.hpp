#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace culprit::metrics {

/// What counts of instructions are called, by PAPI or by the kernel.
inline constexpr std::array<std::string_view, 3> kInstructions = {"PAPI_TOT_INS", "perf::INSTRUCTIONS",
                                                                  "INSTRUCTIONS"};

/// Whether an event counts the instructions that were executed.
inline bool counts_instructions(std::string_view event) {
  return std::ranges::find(kInstructions, event) != kInstructions.end();
}

}  // namespace culprit::metrics
