// Which parts of a blamed context made the others wait, on which threads, what mending them saves and how
// sure that is (ours; docs/algorithms.md 5.4, 5.5; figures in docs/blame.md). For each blamed context: the
// late threads and their excess over the mean, divided among the context's parts (excess.cpp) and followed to
// the code that holds it (walk.cpp); where that explains little, likewise for each call that is waited in. A
// suspect explains what waiting its excess makes (Late), less what sampling noise alone would give. What
// several blamed contexts around it show is one suspect. Cost: work per thread of few parts; bounds from the
// summaries, and parts with equal sums, spare most.
#include "blame/blame.hpp"
#include "blame/confidence.hpp"
#include "blame/excess.hpp"
#include "blame/other_pools.hpp"
#include "blame/role_facts.hpp"
#include "blame/walk.hpp"
#include "metrics/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

namespace culprit::blame {

namespace {

using database::ContextId;
using database::Suspect;

/// What explains less of a context's blame than this is not listed, nor what explains less of all idleness
/// than kTrifle: scopes with hardly any blame have parts of it, too.
constexpr double kListed = 0.05, kTrifle = 0.001;
/// Threads with less than this share of the largest excess are not late where nature makes such excess, too.
/// Nor are they culprits with less than this share of the excess of those that make most (kCulprits) of a
/// suspect's waiting.
constexpr double kLate = 0.25, kCulprits = 0.8;
/// Culprits are alike where the least of their excesses is this share of the largest.
constexpr double kAlike = 0.5;
/// A suspect is named by the outermost procedure of its walk whose work is at most the last one's over this;
/// it is others if their excess is this share of its own.
constexpr double kSameWork = 0.8;
/// Suspects that explain this share of a context's blame leave nothing to look for in single calls.
constexpr double kMostly = 0.5;
/// Of a context's blame: what is left of it, or what other code explains of that in single calls, is not
/// worth a second look below.
constexpr double kWorthAnother = 0.1;
/// Of one code by several call sites, this many are looked at for the one on which the culprits work most.
constexpr std::size_t kSitesRead = 8;

std::uint64_t rounded(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns));
}

/// A suspect, and whether it is all that its walk ended in, or without what that calls; and whether it was
/// sought without the blamed scopes within.
struct Found {
  Suspect suspect;
  bool own = false, apart = false;
  /// The waiting that its excess can cause, in ns, however many balanced scopes around it are blamed: others
  /// wait for it once.
  double bound = 0;
};

std::uint64_t explains(const Found& found) {
  return found.suspect.explains_ns;
}

double explains_all(const std::vector<Found>& found) {
  double sum = 0;
  for (const Found& one : found) sum += static_cast<double>(explains(one));
  return sum;
}

std::uint64_t share_of(std::uint64_t ns, double share) {
  return rounded(static_cast<double>(ns) * share);
}

/// Adds a share of what `from` explains below its balanced scopes, and of what mending it saves, as far as
/// the excess of `found` can cause that.
void add_share(const Suspect& from, double share, Found& found) {
  Suspect& into = found.suspect;
  const double room = std::max(0.0, found.bound - static_cast<double>(into.explains_ns));
  share = std::min(share, room / static_cast<double>(from.explains_ns));
  for (const database::Explained& part : from.explained) {
    const std::uint64_t ns = share_of(part.ns, share);
    if (ns == 0) continue;
    into.explains_ns += ns;
    const auto known = std::ranges::find(into.explained, part.balanced, &database::Explained::balanced);
    if (known != into.explained.end()) {
      known->ns += ns;
    } else {
      into.explained.push_back({.balanced = part.balanced, .ns = ns});
    }
  }
  into.save_balanced_ns += share_of(from.save_balanced_ns, share);
  into.save_removed_ns += share_of(from.save_removed_ns, share);
}

/// One suspect for the same code. `bound`: of how much waiting two that are the same can cause together, and
/// their excess, from those of each.
template <typename Bound>
std::vector<Found> merged(std::vector<Found> found, Bound bound) {
  std::map<std::pair<std::vector<ContextId>, bool>, std::size_t> by_code;
  std::vector<Found> once;
  std::ranges::stable_sort(found, std::ranges::greater(), &explains);
  for (Found& one : found) {
    const auto [known, added] = by_code.try_emplace({one.suspect.scopes, one.own}, once.size());
    if (added) {
      once.push_back(std::move(one));
    } else {
      Found& into = once[known->second];
      into.bound = bound(into.bound, one.bound);
      add_share(one.suspect, 1, into);
      into.suspect.excess_ns = rounded(
          bound(static_cast<double>(into.suspect.excess_ns), static_cast<double>(one.suspect.excess_ns)));
    }
  }
  return once;
}

using database::Confidence;
using database::Doubt;

/// How much later than the mean each thread comes to the end of a scope, or to a call.
struct Lateness {
  Rest rest;           ///< ns; less than 0 where a thread comes earlier
  double largest = 0;  ///< of `rest`
  Late late;
  bool at_call = false;  ///< not at the end of a scope
};

/// How long the threads work in a part, in ns.
struct Extent {
  double shortest = 0, mean = 0, longest = 0;
};

/// The suspects of one role.
class Search {
 public:
  Search(std::span<const database::Context> contexts, const RoleThreads& threads, const RoleView& role,
         const ByThread& values, const Options& options)
      : contexts_(contexts),
        role_index_(threads.role),
        role_(role),
        locations_(threads.locations),
        pools_(may_be_several_pools(contexts, threads, role)),
        epsilon_(options.epsilon),
        parts_(contexts, role),
        work_(role, values, options.period_ns) {}

  /// Adds those below one blamed context; `within`: the outermost blamed ones within it.
  void below(const database::BlameRow& row, const std::vector<ContextId>& within);

  /// Largest explains first, each once.
  [[nodiscard]] std::vector<Suspect> take();

 private:
  [[nodiscard]] std::vector<Found> suspects_of(ContextId balanced, double blame,
                                               const Lateness& lateness) const;
  [[nodiscard]] std::vector<Found> suspects_by_call(const database::BlameRow& row,
                                                    std::span<const ContextId> within, double least) const;
  [[nodiscard]] std::vector<ContextId> calls_of(const database::BlameRow& row,
                                                std::span<const ContextId> within, double least) const;
  void add_by_call(const database::BlameRow& row, std::span<const ContextId> within,
                   std::vector<Found>& found) const;
  [[nodiscard]] Lateness lateness_in(ContextId balanced) const;
  [[nodiscard]] Lateness lateness_at(ContextId call) const;
  void name_late(Lateness& lateness, double error, double mean) const;
  [[nodiscard]] ContextId site_of(const Excess& e, const std::vector<std::size_t>& culprits,
                                  const Late& late) const;
  [[nodiscard]] ContextId name_of(const End& end, ContextId suspect) const;
  [[nodiscard]] double gain_by_removing(const Rest& rest, const Part& part,
                                        std::span<const std::uint32_t> culprits) const;
  [[nodiscard]] Extent extent_of(const Part& part) const;
  [[nodiscard]] double explained_by(const Excess& e, const Lateness& lateness, double share) const;
  void state_worth(Suspect& suspect, const Excess& e, const Lateness& lateness,
                   std::span<const std::size_t> culprits) const;
  void merge_equal();
  void hand_inwards();
  void doubt_pool(Suspect& suspect) const;
  [[nodiscard]] bool holds(const Found& found, ContextId x) const;
  [[nodiscard]] double threads() const { return role_.threads; }

  std::span<const database::Context> contexts_;
  std::uint32_t role_index_;
  const RoleView& role_;
  std::span<const std::uint32_t> locations_;
  bool pools_;  ///< threads that do not work may be of another pool
  double epsilon_;
  Parts parts_;
  Work work_;
  std::vector<Found> found_;
};

/// Sets who is late. An excess that sampling alone may have caused delays nobody, nor does one that nature
/// may have, if it is small beside the largest.
void Search::name_late(Lateness& lateness, double error, double mean) const {
  lateness.largest = std::max(0.0, std::ranges::max(lateness.rest));
  const double quantile = metrics::normal_quantile(1 - epsilon_ / (2 * threads()));
  const double natural = std::min(kLate * lateness.largest, quantile * jitter_of(error, mean));
  const double least = std::max(natural, quantile * error);
  for (std::uint32_t t = 0; t < lateness.rest.size(); ++t) {
    if (lateness.rest[t] <= 0 || lateness.rest[t] < least) continue;
    lateness.late.threads.push_back(t);
    lateness.late.excess.push_back(lateness.rest[t]);
  }
  lateness.late.weigh(lateness.rest.size());
}

/// At the end of a balanced scope: who works more in it than the mean.
Lateness Search::lateness_in(ContextId balanced) const {
  Lateness lateness;
  const Part whole = parts_.whole(balanced);
  const std::span<const std::uint64_t> work = work_.of(whole.ranges);
  const double mean = mean_of(work);
  lateness.rest.reserve(work.size());
  for (const std::uint64_t each : work) lateness.rest.push_back(static_cast<double>(each) - mean);
  name_late(lateness, work_.error(whole), mean);
  return lateness;
}

/// At one call: who waits less in it than the mean.
Lateness Search::lateness_at(ContextId call) const {
  Lateness lateness{.rest = {}, .late = {}, .at_call = true};
  const std::span<const std::uint64_t> idleness = work_.idleness(call);
  const double mean = mean_of(idleness);
  lateness.rest.reserve(idleness.size());
  for (const std::uint64_t each : idleness) lateness.rest.push_back(mean - static_cast<double>(each));
  name_late(lateness, work_.error(call), mean);
  return lateness;
}

/// Where among the late threads the culprits are: those that make most of the waiting, and who is like them.
std::vector<std::size_t> culprits_of(const Excess& e, const Late& late) {
  std::vector<std::size_t> order(late.threads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::ranges::greater(),
                    [&](std::size_t i) { return late.weight[i] * without_noise(e, i); });
  double left = kCulprits * late.waiting(e), least = 0;
  for (auto next = order.begin(); next != order.end() && left > 0; ++next) {
    least = without_noise(e, *next);
    left -= late.weight[*next] * least;
  }
  std::vector<std::size_t> culprits;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (const double own = without_noise(e, i); own > kLate * least) culprits.push_back(i);
  }
  return culprits;
}

/// The scope of the part on which the culprits work most, of those with the largest observations.
ContextId Search::site_of(const Excess& e, const std::vector<std::size_t>& culprits, const Late& late) const {
  std::vector<ContextId> scopes = e.part.scopes;
  if (scopes.size() == 1) return scopes.front();
  std::ranges::stable_sort(scopes, std::ranges::greater(), [&](ContextId x) { return role_.time[x].max; });
  scopes.resize(std::min(scopes.size(), kSitesRead));
  double most = -1;
  ContextId site = scopes.front();
  for (const ContextId x : scopes) {
    const std::span<const std::uint64_t> work =
        work_.of({{.first = x, .end = contexts_[x].end}}, e.part.own ? Ranges() : e.part.ranges);
    double sum = 0;
    for (const std::size_t i : culprits) sum += static_cast<double>(work[late.threads[i]]);
    if (sum <= most) continue;
    most = sum;
    site = x;
  }
  return site;
}

/// The scope that stands out: the outermost procedure of the walk that does little but what it ends in. A
/// procedure that several others call says nothing without its caller.
ContextId Search::name_of(const End& end, ContextId suspect) const {
  if (end.way.empty()) return suspect;
  const auto work = [&](std::size_t i) { return static_cast<double>(end.way[i].work); };
  std::size_t named = end.way.size() - 1;
  while (named > 0 && work(end.way.size() - 1) >= kSameWork * work(named - 1)) --named;
  while (named > 0 && parts_.is_shared(end.way[named].scopes.front())) --named;
  const std::vector<ContextId>& scopes = end.way[named].scopes;
  const auto after = std::ranges::upper_bound(scopes, suspect);
  return after == scopes.begin() ? suspect : *(after - 1);
}

/// How much earlier the last thread arrives if the work of the threads `culprits`, ascending, in `part` falls
/// to the others' mean; `rest`: how much later than the mean each thread is now.
double Search::gain_by_removing(const Rest& rest, const Part& part,
                                std::span<const std::uint32_t> culprits) const {
  const std::span<const std::uint64_t> work = work_.of(part.ranges);
  double others = std::accumulate(work.begin(), work.end(), 0.0);
  for (const std::uint32_t t : culprits) others -= static_cast<double>(work[t]);
  others /= static_cast<double>(work.size() - culprits.size());
  double last = std::numeric_limits<double>::lowest();
  std::size_t passed = 0;
  for (std::uint32_t t = 0; t < work.size(); ++t) {
    const bool culprit = passed < culprits.size() && culprits[passed] == t;
    if (culprit) ++passed;
    const double removed = culprit ? std::max(0.0, static_cast<double>(work[t]) - others) : 0.0;
    last = std::max(last, rest[t] - removed);
  }
  return std::ranges::max(rest) - last;
}

Extent Search::extent_of(const Part& part) const {
  const std::span<const std::uint64_t> work = work_.of(part.ranges);
  const auto [shortest, longest] = std::ranges::minmax(work);
  return {.shortest = static_cast<double>(shortest),
          .mean = mean_of(work),
          .longest = static_cast<double>(longest)};
}

/// The two figures of docs/algorithms.md 5.5; `culprits`: which of the late threads.
void Search::state_worth(Suspect& suspect, const Excess& e, const Lateness& lateness,
                         std::span<const std::size_t> culprits) const {
  const auto explains = static_cast<double>(suspect.explains_ns);
  const auto [shortest, mean, longest] = extent_of(e.part);
  suspect.save_balanced_ns = rounded(std::min(explains / threads(), longest - mean));
  double removed = explains / threads();
  if (const auto count = static_cast<double>(culprits.size()); count > 0 && count < threads()) {
    removed = explains / (threads() - count);
    const auto [least, most] =
        std::ranges::minmax(culprits, {}, [&](std::size_t i) { return e.by_thread[i]; });
    if (e.by_thread[least] < kAlike * e.by_thread[most]) {
      std::vector<std::uint32_t> at;
      at.reserve(culprits.size());
      for (const std::size_t i : culprits) at.push_back(lateness.late.threads[i]);
      removed = std::min(removed, gain_by_removing(lateness.rest, e.part, at));
    }
  }
  suspect.save_removed_ns = rounded(std::min(removed, longest - shortest));
}

/// The waiting that a part's excess explains, where all that the late threads make is `share` of what they
/// can. Of what the ends of a scope show, it is no more than would go if all threads worked alike in the
/// part.
double Search::explained_by(const Excess& e, const Lateness& lateness, double share) const {
  const double made = lateness.late.waiting(e);
  if (lateness.at_call) return share * made;
  const Extent extent = extent_of(e.part);
  return share * std::min(made, threads() * (extent.longest - extent.mean));
}

/// The suspects below a balanced context, in the parts that are not left out, that make `blame` ns of others'
/// waiting.
std::vector<Found> Search::suspects_of(ContextId balanced, double blame, const Lateness& lateness) const {
  std::vector<Found> found;
  const Late& late = lateness.late;
  if (late.threads.empty() || blame <= 0) return found;
  const double share = std::min(1.0, blame / (threads() * lateness.largest));
  constexpr double kRounding = 1 - 1e-9;
  std::vector<End> ends =
      Walk(parts_, work_, late).from(balanced, lateness.rest, kRounding * kListed * blame / share);
  std::vector<double> explains;
  explains.reserve(ends.size());
  for (const End& end : ends) explains.push_back(explained_by(end.excess, lateness, share));
  const double explained = std::accumulate(explains.begin(), explains.end(), 0.0) / blame;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    End& end = ends[i];
    if (explains[i] < kListed * blame) continue;
    const std::vector<std::size_t> culprits = culprits_of(end.excess, late);
    Suspect suspect{
        .role = role_index_, .balanced = balanced, .locations = {}, .scopes = {}, .explained = {}};
    suspect.suspect = site_of(end.excess, culprits, late);
    suspect.named = name_of(end, suspect.suspect);
    double excess = 0;
    for (const std::size_t c : culprits) {
      suspect.locations.push_back(locations_[late.threads[c]]);
      excess += without_noise(end.excess, c);
    }
    suspect.excess_ns = rounded(excess);
    suspect.explains_ns = rounded(explains[i]);
    state_worth(suspect, end.excess, lateness, culprits);
    suspect.explained = {{.balanced = balanced, .ns = suspect.explains_ns}};
    judge(suspect, end.excess, late, culprits, explained);
    suspect.scopes = std::move(end.excess.part.scopes);
    found.push_back({.suspect = std::move(suspect),
                     .own = end.excess.part.own,
                     .apart = false,
                     .bound = explains[i] / share});
  }
  return found;
}

/// The calls that a balanced scope is blamed for and that hold a notable share of its blame. None where the
/// summaries say already that who waits least in each cannot have made others wait for `least` ns: many are
/// spared the look at single threads.
std::vector<ContextId> Search::calls_of(const database::BlameRow& row, std::span<const ContextId> within,
                                        double least) const {
  std::vector<ContextId> calls;
  double explainable = 0;
  auto inner = within.begin();
  for (ContextId x = row.context + 1; x < contexts_[row.context].end;) {
    while (inner != within.end() && *inner < x) ++inner;
    const bool blamed_itself = inner != within.end() && *inner == x;
    const bool call = (contexts_[x].flags & database::kFrontier) != 0;
    const metrics::Accumulator& idle = role_.idleness[x];
    const auto sum = static_cast<double>(idle.sum);
    if (call && !blamed_itself && sum >= kListed * static_cast<double>(row.sum)) {
      calls.push_back(x);
      const std::uint64_t shortest = idle.observers < role_.threads ? 0 : idle.min;
      explainable += sum - threads() * static_cast<double>(shortest);
    }
    x = call || blamed_itself ? contexts_[x].end : x + 1;
  }
  if (explainable < least) calls.clear();
  return calls;
}

/// Two codes that are uneven on different threads, each before a call that all meet in, make the others wait
/// at both calls, though the scope around them ends evenly. Who is late at each call, waiting there shows.
std::vector<Found> Search::suspects_by_call(const database::BlameRow& row, std::span<const ContextId> within,
                                            double least) const {
  std::vector<Found> found;
  for (const ContextId call : calls_of(row, within, least)) {
    const auto idle = static_cast<double>(role_.idleness[call].sum);
    std::ranges::move(suspects_of(row.context, idle, lateness_at(call)), std::back_inserter(found));
  }
  return merged(std::move(found), std::plus());
}

/// To suspects that leave much of the blame unexplained: code that is plainly late at single calls on other
/// threads, as the ends of the scope would show all that is on theirs. It explains no more than they leave.
void Search::add_by_call(const database::BlameRow& row, std::span<const ContextId> within,
                         std::vector<Found>& found) const {
  const auto blame = static_cast<double>(row.sum);
  const double explained = explains_all(found), worth = kWorthAnother * blame;
  double left = blame - explained;
  if (left < worth) return;
  std::set<std::uint32_t> culprits;
  for (const Found& one : found) culprits.insert(one.suspect.locations.begin(), one.suspect.locations.end());
  const auto is_known = [&](const Found& other) {
    return std::ranges::any_of(other.suspect.locations,
                               [&](std::uint32_t location) { return culprits.contains(location); });
  };
  std::vector<Found> others = suspects_by_call(row, within, explained + worth);
  std::erase_if(others, is_known);
  for (Found& other : others) {
    Suspect& suspect = other.suspect;
    const double share = std::min(1.0, left / static_cast<double>(suspect.explains_ns));
    suspect.explains_ns = share_of(suspect.explains_ns, share);
    if (suspect.confidence == Confidence::hint || static_cast<double>(suspect.explains_ns) < worth) continue;
    suspect.explained = {{.balanced = row.context, .ns = suspect.explains_ns}};
    suspect.save_balanced_ns = share_of(suspect.save_balanced_ns, share);
    suspect.save_removed_ns = share_of(suspect.save_removed_ns, share);
    left -= static_cast<double>(suspect.explains_ns);
    found.push_back(std::move(other));
  }
}

/// A blamed scope within this one takes all threads equally long, so that its excess makes nobody late behind
/// it, nor does another rank's there make up for excess outside. Only where what is left explains much less
/// than all does, what is uneven in the scopes within may be late behind them as well. Where either leaves
/// most of the blame unexplained, and waiting in single calls shows who makes it, that is so; of less, it may
/// show more.
void Search::below(const database::BlameRow& row, const std::vector<ContextId>& within) {
  const auto blame = static_cast<double>(row.sum);
  std::vector<Found> found = suspects_of(row.context, blame, lateness_in(row.context));
  if (!within.empty()) {
    parts_.leave_out(within);
    std::vector<Found> apart = suspects_of(row.context, blame, lateness_in(row.context));
    parts_.leave_out({});
    for (Found& one : apart) one.apart = true;
    if (explains_all(apart) >= kSameWork * explains_all(found)) found = std::move(apart);
  }
  if (explains_all(found) < kMostly * blame) {
    std::vector<Found> by_call = suspects_by_call(row, within, kMostly * blame);
    if (explains_all(by_call) >= kMostly * blame) found = std::move(by_call);
  } else {
    add_by_call(row, within, found);
  }
  std::ranges::move(found, std::back_inserter(found_));
}

/// One suspect for the same code below several balanced scopes.
void Search::merge_equal() {
  found_ = merged(std::move(found_), [](double a, double b) { return std::max(a, b); });
}

/// A suspect whose excess is that of others, found for balanced scopes within it, says nothing new: what it
/// explains is theirs, in proportion to what they explain.
void Search::hand_inwards() {
  std::ranges::stable_sort(found_, {}, [](const Found& found) { return found.suspect.balanced; });
  std::vector<Found> kept;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const Suspect& outer = found_[i].suspect;
    std::vector<Found*> inner;
    double excess = 0;
    double explained = 0;
    for (std::size_t k = i + 1; k < found_.size() && !found_[i].apart; ++k) {
      const Suspect& other = found_[k].suspect;
      if (other.balanced >= contexts_[outer.balanced].end) break;
      if (other.balanced == outer.balanced || !holds(found_[i], other.suspect)) continue;
      inner.push_back(&found_[k]);
      excess += static_cast<double>(other.excess_ns);
      explained += static_cast<double>(other.explains_ns);
    }
    if (excess < kSameWork * static_cast<double>(outer.excess_ns) || explained == 0) {
      kept.push_back(std::move(found_[i]));
      continue;
    }
    for (Found* const each : inner) add_share(outer, static_cast<double>(explains(*each)) / explained, *each);
  }
  found_ = std::move(kept);
}

/// Whether `x` is or lies in one of a suspect's scopes and, where it is these without what they call, in no
/// procedure below.
bool Search::holds(const Found& found, ContextId x) const {
  const std::vector<ContextId>& scopes = found.suspect.scopes;
  const auto after = std::ranges::upper_bound(scopes, x);
  if (after == scopes.begin() || x >= contexts_[*(after - 1)].end) return false;
  for (; found.own && x != *(after - 1); x = contexts_[x].parent) {
    if (parts_.is_procedure(x)) return false;
  }
  return true;
}

/// Where the threads that do not run a suspect may serve other work, it is a hint, and no saving is stated.
void Search::doubt_pool(Suspect& suspect) const {
  std::vector<std::uint32_t> culprits;
  for (std::uint32_t t = 0; t < locations_.size(); ++t) {
    if (std::ranges::binary_search(suspect.locations, locations_[t])) culprits.push_back(t);
  }
  const std::span<const std::uint64_t> work = work_.of(parts_.whole(0).ranges);
  const std::vector<std::uint64_t> all(work.begin(), work.end());
  Ranges ranges;
  for (const ContextId scope : suspect.scopes)
    ranges.push_back({.first = scope, .end = contexts_[scope].end});
  if (!others_may_serve({.code = work_.of(ranges), .all = all}, culprits)) return;
  suspect.confidence = Confidence::hint;
  suspect.doubt = Doubt::pools;
  suspect.save_balanced_ns = suspect.save_removed_ns = 0;
}

std::vector<Suspect> Search::take() {
  merge_equal();
  hand_inwards();
  std::ranges::stable_sort(found_, std::ranges::greater(), &explains);
  std::vector<Suspect> suspects;
  suspects.reserve(found_.size());
  for (Found& found : found_) {
    Suspect& suspect = found.suspect;
    if (static_cast<double>(suspect.explains_ns) < kTrifle * static_cast<double>(role_.idleness[0].sum))
      break;
    std::ranges::stable_sort(suspect.explained, std::ranges::greater(), &database::Explained::ns);
    suspect.balanced = suspect.explained.front().balanced;
    if (pools_) doubt_pool(suspect);
    suspects.push_back(std::move(suspect));
  }
  return suspects;
}

/// Of `blamed`, ascending, the outermost within a scope.
std::vector<ContextId> outermost_within(std::span<const database::Context> contexts,
                                        std::span<const ContextId> blamed, ContextId around) {
  std::vector<ContextId> within;
  auto next = std::ranges::upper_bound(blamed, around);
  while (next != blamed.end() && *next < contexts[around].end) {
    within.push_back(*next);
    next = std::ranges::lower_bound(blamed, contexts[*next].end);
  }
  return within;
}

}  // namespace

std::vector<Suspect> find_suspects(std::span<const database::Context> contexts, const RoleThreads& threads,
                                   const RoleView& role, std::span<const database::BlameRow> blame,
                                   const ByThread& values, const Options& options) {
  check_role(role, contexts.size());
  if (threads.locations.size() != role.threads)
    throw std::invalid_argument("a location is needed for every thread that is compared");
  if (role.threads < 2) return {};
  Search search(contexts, threads, role, values, options);
  std::vector<ContextId> blamed;
  for (const database::BlameRow& row : blame) {
    if (row.sum != 0) blamed.push_back(row.context);
  }
  std::ranges::sort(blamed);
  for (const database::BlameRow& row : blame)
    search.below(row, outermost_within(contexts, blamed, row.context));
  return search.take();
}

}  // namespace culprit::blame
