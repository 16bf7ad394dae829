#pragma once

#include "database/contents.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace culprit::viewer {

/// How sure causes are (docs/blame.md, "How sure"): by what their call path cost all that waited for it, of
/// the run, and by what is known of the machine. The thresholds follow from the scored figures
/// (docs/figures.md, "Is the diagnosis right?"). Views `experiment`, which must outlive it.
class CauseConfidence {
 public:
  explicit CauseConfidence(const database::Contents& experiment);

  /// Of one of the experiment's causes: that of its call path, on all threads.
  [[nodiscard]] database::Confidence of(const database::Cause& cause) const;
  /// What would make it surer; of sure ones nothing.
  [[nodiscard]] std::string surer_with(const database::Cause& cause) const;
  /// Of a call path whose causes cost so much; `between`: the code between two MPI calls that was not
  /// sampled.
  [[nodiscard]] bool is_likely(std::uint64_t cost_ns, bool between) const;
  /// A sentence for texts.
  [[nodiscard]] std::string what_likely_means() const;

 private:
  struct Judgement {
    database::Confidence confidence;
    const char* surer_with;
  };
  [[nodiscard]] Judgement judge(std::uint64_t cost_ns, bool between) const;
  [[nodiscard]] Judgement judge(const database::Cause& cause) const;

  std::map<database::TimedScope, std::uint64_t> by_path_;  ///< what a scope's causes cost
  double run_ns_ = 0;                                      ///< of all traced ranks
  bool busy_machine_ = false;
};

}  // namespace culprit::viewer
