#pragma once

#include "cct/canonical.hpp"
#include "exchange/communicator.hpp"
#include "measurement/measurement.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// Called after each file of this rank.
using Step = std::function<void()>;

/// Reads a measurement as merging needs it: without frames of the sampler itself. Throws MeasurementError.
measurement::Measurement read_measurement(const std::string& path);

/// The union of all threads' trees.
struct United {
  cct::SharedTree shared;             ///< canonical, the same on every rank
  std::vector<std::string> damaged;   ///< this rank's files whose trees could not be read
  std::vector<std::string> problems;  ///< parallel to damaged: file: why
};

/// Collective: first pass over the input. Every rank unites the trees of its files, one at a time; the unions
/// are reduced along a binomial tree (structure only; algorithms.md 1), brought into canonical form and
/// broadcast.
United unite(exchange::Communicator& comm, std::span<const std::string> files, const Step& step);

}  // namespace culprit::merge
