#pragma once

#include "commands/efficiency.hpp"
#include "commands/list.hpp"
#include "commands/replayed_savings.hpp"
#include "findings/causes.hpp"
#include "findings/diagnosis.hpp"
#include "findings/mpi_calls.hpp"
#include "findings/thread_causes.hpp"
#include "findings/verdict.hpp"
#include "views/source.hpp"

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace culprit::viewer::tui {

/// Rows of a list in the browser; longer lists are for `--format csv`.
inline constexpr std::size_t kMostRows = 300;

/// What the analyses show, over all threads.
struct Findings {
  Diagnosis diagnosis;
  ReplayedSuspects replayed;  ///< what balancing suspects saves, where the time lines are at hand
  Verdict verdict;
  std::vector<std::string> messages;  ///< what of communication is worth a sentence
  ThreadCauses thread_causes;
  std::vector<std::string> threads;  ///< what of these is worth a sentence, and the verdict does not say
  Efficiency efficiency;
  ThreadEfficiency thread_efficiency;
  MpiTraffic mpi;
  /// A list with a row for each call path, and the same for each rank.
  using Lists = std::array<List, 2>;
  Lists waits, causes, hotspots;
  List critical;
  std::optional<CostliestCode> costliest_code;  ///< by what the user wrote or chose (UsersScopes)
  std::optional<CommonCause> common_cause;      ///< where none of these says much
  std::string failure;                          ///< not empty: why there are none
};

/// Forms the findings beside the user, on a thread of its own: on a large database that takes longer than a
/// key may.
class FindingsTask {
 public:
  /// `source` must outlive this. `database`: its name; the measurement beside it is replayed, where there is
  /// one.
  explicit FindingsTask(const views::Source& source, std::string database = {}, bool unicode = true,
                        bool without_startup = false);
  ~FindingsTask();
  FindingsTask(const FindingsTask&) = delete;
  FindingsTask& operator=(const FindingsTask&) = delete;

  /// Null until they are formed.
  [[nodiscard]] const Findings* ready() const { return ready_.load() ? &findings_ : nullptr; }
  /// Waits for them.
  const Findings& wait();

 private:
  void form(const views::Source& source);

  std::string database_;
  bool unicode_, without_startup_;
  Findings findings_;
  std::atomic<bool> ready_{false};
  std::thread thread_;
};

}  // namespace culprit::viewer::tui
