#pragma once

#include "blame/blame.hpp"

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace culprit::blame {

/// A calling context tree built scope by scope in pre-order.
class TreeFixture {
 public:
  TreeFixture() { contexts_.push_back({.parent = database::kNone, .end = 1}); }

  /// Adds a scope below `parent`, which must be the last scope or one of its ancestors. Without `name` it is
  /// a procedure of its own.
  database::ContextId add(database::ContextId parent, database::ContextKind kind, std::uint8_t flags = 0,
                          database::StringId name = 0);

  /// A call site at `line`, and below it the procedure `name`; returns the procedure.
  database::ContextId call(database::ContextId parent, database::StringId name, std::uint32_t line);

  /// A statement or loop at `line`.
  database::ContextId at_line(database::ContextId parent, database::ContextKind kind, std::uint32_t line);

  /// A procedure frame of communication or a wait, with a statement below it; returns the statement.
  database::ContextId add_wait(database::ContextId parent);

  [[nodiscard]] const std::vector<database::Context>& contexts() const { return contexts_; }

 private:
  std::vector<database::Context> contexts_;
};

/// The values of one role's threads in a tree, in ns, and what blame needs to know of them.
class RoleFixture {
 public:
  RoleFixture(const std::vector<database::Context>& contexts, std::uint32_t threads);

  /// Adds time of one thread at a leaf; `samples` taken separately for it; `idle` if it is idleness.
  void spend(database::ContextId leaf, std::uint32_t thread, std::uint64_t ns, bool idle = false,
             std::uint64_t samples = 0);
  /// The same for threads 0, 1, 2 …
  void spend(database::ContextId leaf, std::initializer_list<std::uint64_t> ns, bool idle = false) {
    spend_each(leaf, ns, idle);
  }
  void spend_each(database::ContextId leaf, const std::vector<std::uint64_t>& ns, bool idle = false);

  /// Samples of blocked calls at a leaf, over all threads.
  void block(database::ContextId leaf, std::uint64_t samples);

  [[nodiscard]] const RoleView& view();
  [[nodiscard]] ByThread by_thread() const;
  [[nodiscard]] std::vector<std::uint32_t> locations() const;

  /// Everything in order: balance, blame, suspects.
  struct Result {
    std::vector<database::Balance> balance;
    std::vector<database::BlameRow> blame;
    std::vector<database::Suspect> suspects;
  };
  Result analyse(const Options& options);

 private:
  const std::vector<database::Context>& contexts_;
  std::uint32_t threads_;
  std::vector<std::vector<std::uint64_t>> time_, idle_;  ///< [context][thread], inclusive
  std::vector<std::vector<std::uint64_t>> own_work_;     ///< the same of work, exclusive
  std::vector<metrics::Uint128> weight_sq_;
  std::vector<std::uint64_t> blocked_;
  std::vector<metrics::Accumulator> time_summary_, idle_summary_;
  RoleView view_;
};

}  // namespace culprit::blame
