#pragma once

#include "measurement/measurement.hpp"

#include <functional>
#include <utility>

namespace culprit::merge {

/// Lets the system fetch files while those before them are merged. They are announced to the reader in the
/// order in which it will read them.
class ReadAhead {
 public:
  /// `reader` must outlive this. `next` gives the files' paths one by one, then null.
  ReadAhead(measurement::Reader& reader, std::function<const char*()> next)
      : reader_(reader), next_(std::move(next)) {
    for (int ahead = 0; ahead < kFilesAhead; ++ahead) announce();
  }

  /// To be called when a file was read.
  void step() { announce(); }

 private:
  /// With a file of some ten kilobytes merged in 0.1 ms, this covers a storage that takes a millisecond and
  /// more to answer; 4 were enough for a local disk. It bounds what is fetched (2 MiB) and how many files are
  /// open.
  static constexpr int kFilesAhead = 16;

  void announce() {
    if (const char* path = next_()) reader_.announce(path);
  }

  measurement::Reader& reader_;
  std::function<const char*()> next_;
};

}  // namespace culprit::merge
