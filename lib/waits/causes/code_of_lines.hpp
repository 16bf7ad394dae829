#pragma once

#include "exchange/communicator.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/procedure_chains.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace culprit::waits {

inline constexpr double kSignificant = 2;  ///< standard errors: less may be chance

/// Which code the time lines ran over the whole run, and for how long, by samples: what distinguishes ranks
/// that run different code, and in which code a rank takes longer than others that run it (docs/algorithms.md
/// 8). The same for any number of ranks of the analysis.
class CodeOfLines {
 public:
  /// Nothing is known: all lines are of one kind.
  CodeOfLines() = default;
  /// Collective. The lines are classified; both must outlive it.
  CodeOfLines(exchange::Communicator& analysis, const TraceStore& store, const ProcedureChains& chains);

  /// Of a line of this rank: lines of one kind run the same code. Below kKinds.
  [[nodiscard]] std::uint32_t kind(Location line) const;
  /// Of a line of this rank: how much longer it took in a chain's own code than the others that ran it took
  /// on average, as a share of what it took. What no other ran is compared together with all in the innermost
  /// chain around it that others ran, too. 0: the difference is within the samples' noise.
  [[nodiscard]] double surplus(Location line, std::uint32_t chain) const;

  /// More kinds than that are one, the last of them.
  static constexpr std::uint32_t kKinds = 16;

 private:
  /// What was sampled in a chain's own code.
  struct Own {
    std::uint32_t chain = 0;
    std::uint64_t ns = 0;
    double surplus = 0;  // a share
  };
  /// What was sampled in a chain and in those that it calls, in ns.
  using WithCallees = std::pair<std::uint32_t, std::uint64_t>;
  struct Line {
    std::vector<Own> own;          // in order of the chains
    std::vector<WithCallees> all;  // likewise
    std::uint32_t kind = 0;
  };
  /// A chain on all lines.
  struct Chain {
    std::uint64_t own_ns = 0, all_ns = 0;  // its own code, and with what it calls
    std::uint32_t own_lines = 0, all_lines = 0;
  };

  void add_up(exchange::Communicator& analysis);
  void find_kinds(exchange::Communicator& analysis);
  void find_surpluses(Line& line) const;
  [[nodiscard]] double surplus(std::uint64_t ns, std::uint64_t all_ns, std::uint32_t lines) const;
  [[nodiscard]] std::vector<WithCallees> with_callees(const std::vector<Own>& own) const;

  const TraceStore* store_ = nullptr;
  const ProcedureChains* chains_ = nullptr;
  std::vector<Line> lines_;  // as in the store
  std::unordered_map<std::uint32_t, Chain> of_chain_;
  double sample_ns_ = 0;  // what a sample stands for: the longest of all lines
  double line_ns_ = 0;    // what was sampled on a line, on average
};

}  // namespace culprit::waits
