#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace culprit::database {

/// Writes a database in parallel: every member is collective. The file grows under a temporary name beside
/// `path` and is renamed by finish(); without finish() the temporary file is removed. Ranks hold contiguous
/// ranges: rank r's first profile (context) follows rank r−1's last. Bytes do not depend on the number of
/// ranks. If a member fails on one rank it throws on every rank (std::system_error where a write fails,
/// std::logic_error or std::invalid_argument where the caller broke the contract; the other ranks throw
/// std::runtime_error with its message).
class Writer {
 public:
  Writer(exchange::Communicator& comm, const std::filesystem::path& path);
  ~Writer();

  /// Exclusive values, one list per local profile. May be called repeatedly: a call's profiles follow those
  /// of the calls before; but not alternately with add_context_values.
  void add_profile_values(std::span<const std::vector<Value>> profiles);
  /// Inclusive values, one list per local context. May be called repeatedly, as above.
  void add_context_values(std::span<const std::vector<Value>> contexts);

  /// Rank 0: the rest (others' argument is ignored). The per-thread values must have been added before: as
  /// many lists as there are locations and contexts.
  void add_experiment(const Experiment& experiment);

  /// Table of sections, checksums, rename.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::database
