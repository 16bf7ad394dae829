#pragma once

#include "database/contents.hpp"
#include "database/database.hpp"
#include "views/column.hpp"
#include "views/selection.hpp"
#include "views/source.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace culprit::views {

/// How many threads observed a scope, of how many.
struct Presence {
  std::uint64_t observers = 0;  ///< n(x)
  std::uint64_t threads = 0;    ///< T
  bool exact = true;            ///< false: at least `observers`; several scopes are shown as one
};

/// What the views show, over all threads or over some: summaries by role, metric and scope, blame, per-thread
/// values. Keeps references to the source, which must outlive it.
class Figures {
 public:
  /// Over all threads.
  explicit Figures(const Source& source);

  /// Over the `locations` given; reads their profiles for `metrics`, those of others are then not available.
  /// Blame is not available: it rests on all threads.
  Figures(const Source& source, std::vector<std::uint32_t> locations, std::span<const std::uint32_t> metrics);

  [[nodiscard]] const database::Contents& experiment() const { return source_.experiment(); }
  [[nodiscard]] const Source& source() const { return source_; }
  [[nodiscard]] bool over_all() const { return !selection_; }
  [[nodiscard]] std::span<const std::uint32_t> locations() const { return locations_; }
  [[nodiscard]] std::span<const std::uint64_t> threads() const { return threads_; }  ///< T per role

  /// The figure of `column` at one scope; NaN where it does not exist.
  [[nodiscard]] double at_context(const Column& column, database::ContextId context) const;
  [[nodiscard]] double at_flat(const Column& column, database::FlatId scope) const;

  /// The figure of a value per location (one entry per location of the experiment).
  [[nodiscard]] double of_threads(const Column& column, std::span<const std::uint64_t> values) const;

  /// Accumulators of one metric; the identity where nobody observed it.
  [[nodiscard]] metrics::Accumulator context(std::uint32_t role, std::uint32_t metric,
                                             database::ContextId context, bool inclusive) const;
  [[nodiscard]] metrics::Accumulator flat(std::uint32_t role, std::uint32_t metric, database::FlatId scope,
                                          bool inclusive) const;

  /// Observers of any metric that `role` (all roles where not set) has at the scope: those of the time if
  /// there is one.
  [[nodiscard]] Presence context_presence(database::ContextId context,
                                          std::optional<std::uint32_t> role) const;
  [[nodiscard]] Presence flat_presence(database::FlatId scope, std::optional<std::uint32_t> role) const;

  /// One value per location of the experiment, 0 for those not selected. Reads per-thread values.
  [[nodiscard]] std::vector<std::uint64_t> per_thread(database::ContextId context, std::uint32_t metric,
                                                      bool inclusive) const;

  /// The sums over some contexts (ascending, none of them below another where `inclusive`), read at once.
  [[nodiscard]] std::vector<std::uint64_t> per_thread(std::span<const database::ContextId> contexts,
                                                      std::uint32_t metric, bool inclusive) const;

  /// Of a file or load module, exclusive; not set where the source does not keep them.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> flat_exclusive_per_thread(
      database::FlatId scope, std::uint32_t metric) const;

  [[nodiscard]] const BlameIndex& blame() const { return blame_; }

 private:
  /// Which tree a scope is of.
  enum class Tree : std::uint8_t { contexts, flat };

  [[nodiscard]] metrics::Accumulator look_up(Tree tree, std::uint32_t role, std::uint32_t metric,
                                             std::uint32_t scope, bool inclusive) const;
  [[nodiscard]] double at(Tree tree, const Column& column, std::uint32_t scope) const;
  void keep_selected(std::vector<std::uint64_t>& values) const;
  [[nodiscard]] std::vector<std::uint64_t> exclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const;
  [[nodiscard]] Presence presence(Tree tree, std::uint32_t scope, std::optional<std::uint32_t> role) const;

  const Source& source_;
  std::vector<std::uint32_t> locations_;
  std::unique_ptr<Selection> selection_;
  std::vector<std::uint64_t> threads_;
  std::vector<bool> selected_;  ///< by location
  BlameIndex blame_;
  std::uint32_t presence_metric_ = 0;
};

/// The contexts whose own values are the exclusive ones of `context`, ascending: itself and what belongs to
/// it (docs/algorithms.md 3): to a procedure everything but callees, to other scopes their statements.
std::vector<database::ContextId> exclusive_part(const database::Contents& experiment,
                                                database::ContextId context);

/// The inclusive figure of the whole run, to which shares refer; for exclusive columns too.
double total(const Figures& figures, Column column);

/// The locations of the ranks listed; throws UnknownMetric if a rank was not measured.
std::vector<std::uint32_t> locations_of_ranks(const database::Contents& experiment,
                                              std::span<const std::int32_t> ranks);

/// A set of contexts as whole subtrees within which others are left out, within which others are in again,
/// and so on. Layer by layer, each ascending and none of its subtrees within another of the same layer: the
/// sum of the set's exclusive values is that of layer 0's inclusive ones, less layer 1's, plus layer 2's. Of
/// a load module with many contexts these are far fewer than its contexts: those at which it is called, and
/// calls others.
///
/// `set` ascends; `parent_of` is asked for contexts in the same order as they are numbered (pre-order), up to
/// `contexts`. Empty if more than `most` subtrees are needed.
std::vector<std::vector<database::ContextId>> nested_subtrees(
    std::span<const database::ContextId> set, std::uint32_t contexts,
    const std::function<database::ContextId(database::ContextId)>& parent_of, std::size_t most);

}  // namespace culprit::views
