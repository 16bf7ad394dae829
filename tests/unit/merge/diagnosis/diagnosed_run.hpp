#pragma once

#include "exchange/communicator.hpp"
#include "merge/values/accumulate.hpp"
#include "merge/values/plan.hpp"

#include <cstdint>
#include <functional>
#include <vector>

/// A procedure with two statements, which each thread of one role samples for some time.
struct DiagnosedRun {
  static constexpr culprit::database::ContextId kProcedure = 2, kFirst = 3, kSecond = 4;

  DiagnosedRun();

  /// Ns in the first and the second statement.
  void thread(std::uint64_t first_ns, std::uint64_t second_ns);

  /// On each rank of an analysis with `ranks`: what this rank's threads, every `ranks`th one, accumulate.
  using Use = std::function<void(culprit::exchange::Communicator&, culprit::merge::ThreadAccumulation&)>;
  void analyse(int ranks, const Use& use) const;

  culprit::merge::Shape shape;
  culprit::measurement::HostLoad host_load;
  std::vector<culprit::measurement::ThreadProfile> threads;
};
