#pragma once

#include "database/contents.hpp"
#include "database/encoding.hpp"

#include <memory>

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

/// Everything that a reader says, as it would have been given to a writer.
Experiment collect(const Contents& contents);

}  // namespace culprit::database
