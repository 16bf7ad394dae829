#pragma once

#include "blame/parts.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

// What some threads work too much in the parts of a balanced scope (docs/algorithms.md 5.4).
namespace culprit::blame {

/// One number for each of the late threads. There may be a million threads, and the others have no excess:
/// of these, as little as possible is held at a time.
using PerLate = std::vector<double>;

struct Excess;

/// The threads that make the others wait, and how much each works too much: X(t), 0 for all others.
struct Late {
  std::vector<std::uint32_t> threads;  ///< ascending
  PerLate excess;                      ///< ns, above 0
  /// The waiting of all compared threads that each ns of a late thread's excess makes: weigh().
  PerLate weight;

  /// Divides the waiting of `compared` threads among the late ones.
  void weigh(std::size_t compared);
  /// The waiting, ns, that so much excess makes.
  [[nodiscard]] double waiting(const PerLate& values) const;
  /// That of a part, less what sampling noise alone would give.
  [[nodiscard]] double waiting(const Excess& e) const;
  /// The waiting that independent errors of 1 ns on some of the threads, given by their number here, make.
  [[nodiscard]] double error(std::span<const std::size_t> of) const;
  [[nodiscard]] double error() const;
};

/// A part of a balanced scope, and what the late threads work too much in it.
struct Excess {
  Part part;
  PerLate by_thread;  ///< e(c, t), ns, sampling noise included
  double error = 0;   ///< standard error of one thread's work, ns
  double jitter = 0;  ///< jitter_of(), of its work
  /// How much more even the scope is without this part than without another that offers as much, over the
  /// jitter of both; infinite where there is none.
  double margin = std::numeric_limits<double>::infinity();
};

double mean_of(std::span<const std::uint64_t> work);
/// e(c, t) less what sampling noise alone would give.
double without_noise(const Excess& e, std::size_t late);
/// How much threads with the same work may differ, ns: `error` by sampling, and 0.3 % of the mean by nature.
double jitter_of(double error, double mean);

/// Work of the compared threads (RoleThreads) in the parts of one role's contexts.
class Work {
 public:
  /// All must outlive this.
  Work(const RoleView& role, const ByThread& values, std::uint64_t period_ns)
      : role_(role), values_(values), period_ns_(period_ns) {}

  /// Of each thread; `within` holds the part and was asked for before. Valid until the next call. Throws
  /// std::invalid_argument where it is not given for every compared thread.
  [[nodiscard]] std::span<const std::uint64_t> of(const Ranges& ranges, const Ranges& within = {}) const;

  /// Idleness of each thread at or below `x`; else as of().
  [[nodiscard]] std::span<const std::uint64_t> idleness(database::ContextId x) const;

  /// Standard error of one thread's work; of its time in `x`.
  [[nodiscard]] double error(const Part& part) const;
  [[nodiscard]] double error(database::ContextId x) const;
  [[nodiscard]] std::uint32_t threads() const { return role_.threads; }

 private:
  const RoleView& role_;
  const ByThread& values_;
  std::uint64_t period_ns_;
};

/// How much later than the mean each thread is, without the parts that were already found to be uneven: W(b,
/// t) − mean of a balanced scope b, or the mean less I(c, t) at a call c; ns.
using Rest = std::vector<double>;

/// Called for each part that receives excess, with the rest before the part is taken from it; false ends it.
using Take = std::function<bool(Excess excess, const Rest& rest)>;

/// Divides the excess of late threads among parts.
class Division {
 public:
  /// Both must outlive this.
  Division(const Work& work, const Late& late) : work_(work), late_(late) {}

  /// Divides `left` among `parts` of a scope with the contexts `within`: first the part that, of those with
  /// about the largest offer, leaves the rest most even; then the next, given the first, until none offers
  /// what makes `least` (above 0) of waiting or more.
  void among(std::vector<Part> parts, const Ranges& within, PerLate left, const Rest& rest, double least,
             const Take& take) const;

 private:
  struct Offer;
  [[nodiscard]] std::vector<Offer> offers(std::vector<Part>& parts, const Ranges& within, const PerLate& left,
                                          const Rest& rest, double least) const;
  [[nodiscard]] Offer offer_of(const Part& part, const Ranges& within, const PerLate& left,
                               const Rest& rest) const;
  static std::pair<std::size_t, double> choose(const std::vector<Offer>& offers);

  const Work& work_;
  const Late& late_;
};

}  // namespace culprit::blame
