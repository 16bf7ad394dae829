#pragma once

#include "measurement/kinds.hpp"
#include "measurement/trace.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace culprit::merge {

/// A thread's wait for another one of its process that is known.
struct HeldWait {
  measurement::WaitKind kind{};
  std::uint64_t begin_ns = 0, end_ns = 0;
  measurement::WaitHolder holder;
};

/// The waits of one thread of which it is known for whom they were, by its records.
class HeldWaits {
 public:
  /// nullptr: the thread has no time line.
  explicit HeldWaits(std::unique_ptr<measurement::trace::ThreadRecords> records)
      : records_(std::move(records)) {}

  /// The first that ends at `ns` or later; nullptr: there is none. Moments come in their order. Valid until
  /// the next call.
  [[nodiscard]] const HeldWait* ending_from(std::uint64_t ns);

 private:
  std::unique_ptr<measurement::trace::ThreadRecords> records_;
  measurement::trace::Record record_;
  HeldWait wait_;
};

}  // namespace culprit::merge
