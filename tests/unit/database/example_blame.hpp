#pragma once

#include "example.hpp"

namespace culprit::database {

/// The example's metrics by number.
enum ExampleMetric : std::uint32_t {
  kRealtime,
  kCpu,
  kSamples,
  kIdleness,
  kCommunication,
  kImbalance,
  kExampleMetrics
};

/// Fills balance, blame and suspects from the values and summaries.
void fill_blame(Example& example);

}  // namespace culprit::database
