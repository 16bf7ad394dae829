#pragma once

#include "database/database.hpp"
#include "metrics/accumulator.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace culprit::blame {

enum class Mode : std::uint8_t { noise_aware, paper };

struct Options {
  Mode mode = Mode::noise_aware;
  double alpha = 1.1, tau = 0.01, epsilon = 0.01;
  std::uint64_t period_ns = 5'000'000;
};

inline constexpr double kCoveredUnit = 65536;

/// What is known of the contexts in one role, of those of its threads that are compared (lived_briefly);
/// shift_blame gets all threads'. All inclusive, dense by ContextId.
struct RoleView {
  std::uint32_t threads = 0;                       ///< T
  std::span<const metrics::Accumulator> time;      ///< REALTIME (I)
  std::span<const metrics::Accumulator> idleness;  ///< idleness (I)
  std::span<const metrics::Uint128> weight_sq;  ///< Σ over threads of Σ weight², separately taken samples
  std::span<const std::uint64_t> blocked;       ///< Σ over threads of samples that stand for blocked calls
  /// What of weight_sq does not vary by sampling, in 1/kCoveredUnit: where the length of a gap between waits
  /// is known, its samples only divide it (docs/algorithms.md 5.7). Empty: nothing.
  std::span<const metrics::Uint128> covered = {};
};

/// Decides balance for every context (docs/algorithms.md 5.2). Contexts with kInWait are untested, and so are
/// call sites and contexts with kRunTime in noise-aware mode, so that blame falls on the loop or procedure of
/// the user around them, and what waits much longer than it works (docs/blame.md), since the cause is not in
/// it; contexts[0] is balanced.
std::vector<database::Balance> test_balance(std::span<const database::Context> contexts, const RoleView& role,
                                            const Options& options);

/// Shifts the idleness of the frontier to the deepest balanced ancestors in one pass
/// (docs/algorithms.md 5.3). Rows with a non-zero sum only, ascending. Conservation: Σ sum over rows ==
/// idleness at the root.
std::vector<database::BlameRow> shift_blame(std::span<const database::Context> contexts, const RoleView& role,
                                            std::span<const database::Balance> balance);

/// Whether a thread is not compared with others of its role, the longest of which lived `longest_ns`: one
/// that lived less than half as long cannot have worked as long as they.
constexpr bool lived_briefly(std::uint64_t lived_ns, std::uint64_t longest_ns) {
  return lived_ns < longest_ns / 2;
}

/// Which role it is, and the location of each of its threads that are compared.
struct RoleThreads {
  std::uint32_t role = 0;
  std::span<const std::uint32_t> locations;
  bool are_workers = false;  ///< not main threads
};

/// Contexts, ascending and disjoint.
using Ranges = std::vector<database::ContextRange>;

/// Work W (REALTIME − idleness, ns) that every compared thread did itself in the contexts `of`, in their
/// order. `within` holds all of them and was asked for before; empty where nothing did. Valid until the next
/// call.
using WorkOf = std::function<std::span<const std::uint64_t>(const Ranges& of, const Ranges& within)>;

/// Idleness, ns, of every compared thread at or below a context, in their order. Valid until the next call.
using IdlenessOf = std::function<std::span<const std::uint64_t>(database::ContextId context)>;

/// What single threads did.
struct ByThread {
  WorkOf work;
  IdlenessOf idleness;
};

/// Finds the suspects of every blamed context, what mending them saves and how sure they are
/// (docs/algorithms.md 5.4, 5.5). Largest explains
/// first, each once; nothing where fewer than two threads are compared. A suspect is a procedure, an inlined
/// procedure, a region, a loop, a call site or a line; communication and waits are none. Throws
/// std::invalid_argument if sizes do not fit.
std::vector<database::Suspect> find_suspects(std::span<const database::Context> contexts,
                                             const RoleThreads& threads, const RoleView& role,
                                             std::span<const database::BlameRow> blame,
                                             const ByThread& values, const Options& options);

}  // namespace culprit::blame
