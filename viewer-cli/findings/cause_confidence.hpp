#pragma once

#include "database/contents.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer {

/// Who waited for a thread: the exact waits of a run, by whom and where they were for.
class WaitsFor {
 public:
  explicit WaitsFor(const database::Contents& experiment);

  /// By waiter, who may be there several times: all waits for that thread in that call.
  [[nodiscard]] std::span<const database::Wait* const> thread(std::uint32_t location,
                                                              database::ContextId call) const;

 private:
  std::map<std::pair<std::uint32_t, database::ContextId>, std::vector<const database::Wait*>> waits_;
};

/// Whether most of these waits are for the lock of a critical section: contention, for which nobody is late.
bool is_contention(std::span<const database::Wait* const> waits);

/// How sure causes are (docs/blame.md, "How sure"): by what their call path cost all that waited for it, of
/// the run, by what is known of the machine, and by whether the code takes longer on some ranks. The
/// thresholds follow from the scored figures (docs/figures.md, "Is the diagnosis right?"). Views
/// `experiment`, which must outlive it.
class CauseConfidence {
 public:
  explicit CauseConfidence(const database::Contents& experiment);

  struct Judgement {
    database::Confidence confidence = database::Confidence::sure;
    const char* surer_with = "";  ///< of sure ones nothing
    std::string why = {};         ///< of likely ones, a sentence
  };

  /// Of one of the experiment's causes: that of its call path, on all threads.
  [[nodiscard]] Judgement of(const database::Cause& cause) const;
  /// Of a call path in the user's scope `context` whose causes cost so much; `between`: the code between two
  /// MPI calls that was not sampled.
  [[nodiscard]] Judgement of_path(std::uint64_t cost_ns, database::ContextId context, bool between) const;

 private:
  /// What the causes in a user's scope cost, and of that, where others waited for messages.
  struct Path {
    std::uint32_t location = 0;  ///< one that has such a cause
    double cost_ns = 0, messages_ns = 0;
  };
  [[nodiscard]] bool may_fill(database::ContextId context) const;

  const database::Contents& experiment_;
  std::map<database::TimedScope, std::uint64_t> by_scope_;  ///< what a scope's causes cost
  std::map<database::ContextId, Path> by_path_;             ///< by the user's scope
  double run_ns_ = 0;                                       ///< of all traced ranks
  bool busy_machine_ = false;
};

}  // namespace culprit::viewer
