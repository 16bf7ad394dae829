#pragma once

#include "database/database.hpp"

#include <stdexcept>

namespace culprit::database {

/// An experiment that contradicts itself; what() says how.
class Inconsistent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Checks everything in an experiment that refers to something else, and every order that database.hpp
/// promises: strings sorted and unique, both trees in pre-order with their ends, indices in range, kinds and
/// flags known, summaries by (role, metric) and scope, blame by context. The writer asserts with it and the
/// reader trusts nothing else.
void check_consistency(const Experiment& experiment, const EachLocation& locations);

/// Whether what time lines show refers only to locations, contexts and metrics that are there.
[[nodiscard]] bool is_sound(const TraceAnalyses& trace, std::size_t locations, std::size_t contexts,
                            std::size_t metrics);

}  // namespace culprit::database
