#pragma once

#include "blame/blame.hpp"

#include <utility>
#include <vector>

// The parts of a balanced scope that suspects are sought among: code, whatever place it is called from
// (docs/algorithms.md 5.4).
namespace culprit::blame {

/// Scopes below a balanced one that are the same code, with what the summaries know of their work W (time
/// that is not idle), over the threads of a role.
struct Part {
  std::vector<database::ContextId> scopes;  ///< ascending, none within another
  bool own = false;                         ///< without the procedures that it calls
  Ranges ranges;                            ///< contexts with as much work on each thread
  metrics::Uint128 work = 0;                ///< ns, over all threads
  metrics::Uint128 weight_sq = 0;           ///< Σ weight² of its work's separately taken samples
  std::uint64_t blocked = 0;                ///< its work's samples of blocked calls
  metrics::Uint128 covered = 0;             ///< what of weight_sq does not vary: RoleView::covered
  double spread = 0;  ///< ns; its work's standard deviation over the threads is at most that
};

/// Divides scopes into parts. Pools by procedure: below a part, scopes with the same next procedure (inlined
/// ones and regions of the program included) are one part, through whatever call sites, lines and loops; a
/// procedure that calls itself is one with those calls.
/// Communication and waits are in no part; a run-time library is its caller's doing, and gives way to the
/// user's code below it.
class Parts {
 public:
  /// Both must outlive this.
  Parts(std::span<const database::Context> contexts, const RoleView& role);

  /// From now on these scopes, ascending and none within another, are in no part.
  void leave_out(std::vector<database::ContextId> scopes) { left_out_ = std::move(scopes); }

  /// One scope as a whole.
  [[nodiscard]] Part whole(database::ContextId x) const;

  /// What a balanced scope consists of: the procedures that it calls, and its own loops and lines.
  [[nodiscard]] std::vector<Part> of_balanced(database::ContextId balanced) const;

  /// The procedures that `part` calls, and as the last part what is its own.
  [[nodiscard]] std::vector<Part> procedures_below(const Part& part) const;

  /// The outermost loops, call sites with a line, and lines within `part`'s procedure.
  [[nodiscard]] std::vector<Part> pieces_of(const Part& part) const;

  [[nodiscard]] bool is_procedure(database::ContextId x) const;

  /// Whether several procedures call the procedure of `x`.
  [[nodiscard]] bool is_shared(database::ContextId x) const { return shared_[procedure_[x]]; }

 private:
  struct Direct;
  void visit(database::ContextId x, Direct& into) const;
  void collect_pieces(database::ContextId x, bool of_library, bool own,
                      std::vector<database::ContextId>& into) const;
  [[nodiscard]] std::vector<Part> pooled_pieces(const Part& part, bool of_library) const;
  [[nodiscard]] Part make(std::vector<database::ContextId> scopes, bool own) const;
  void sum_waits();
  void find_users_code();
  void number_procedures();
  [[nodiscard]] bool is_left_out(database::ContextId x) const;
  [[nodiscard]] bool is_root(database::ContextId x) const;
  [[nodiscard]] bool of_run_time(database::ContextId x) const;
  [[nodiscard]] bool recurs(database::ContextId x) const;
  [[nodiscard]] bool holds_recursion(database::ContextId site) const;

  std::span<const database::Context> contexts_;
  const RoleView& role_;
  std::vector<metrics::Uint128> wait_weight_sq_;  ///< by context: what is not work
  std::vector<std::uint64_t> wait_blocked_;
  std::vector<database::ContextId> left_out_;
  std::vector<bool> users_code_;          ///< by context: the user's code is at or below it
  std::vector<std::uint32_t> procedure_;  ///< by context: number of the procedure, database::kNone for others
  std::vector<std::uint32_t> around_;     ///< by context: number of the procedure that it is or is in
  std::vector<bool> shared_;              ///< by procedure
};

}  // namespace culprit::blame
