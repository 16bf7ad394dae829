#pragma once

#include "database/contents.hpp"
#include "database/encoding.hpp"

#include <cstddef>
#include <vector>

namespace culprit::database {

/// An experiment as a reader sees it: encoded, in memory, without per-thread values. Balance that is not
/// stated is untested.
class Image {
 public:
  explicit Image(Experiment experiment);
  [[nodiscard]] const Contents& contents() const { return contents_; }

 private:
  Bytes bytes_;
  Contents contents_;
};

/// What tables say of roles, metrics and scopes below these numbers; without tables that are empty.
std::vector<Summary> read_summaries(const SummaryTables& tables, std::size_t roles, std::size_t metrics,
                                    std::size_t scopes);

/// Everything that a reader says, as it would have been given to a writer.
Experiment collect(const Contents& contents);

}  // namespace culprit::database
