// Which code each time line ran over the whole run, by samples (docs/algorithms.md 8). Lines that run the
// same code are of one kind, so that waiters of different kinds are not compared together: of the chains of
// procedures that take a fiftieth of a line's time or more where they run, a line runs those in which it has
// a quarter or more of what lines that ran it at all have on average. And what a line took longer in a chain
// than the others that ran it, which divides what is left of an alternative. Cost: a look-up per sample and
// procedure around it; some bytes per sampled chain of each line.
#include "waits/causes/code_of_lines.hpp"

#include "exchange/message_exchange.hpp"
#include "storage/hash.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

namespace culprit::waits {

namespace {

constexpr double kOfLine = 0.02;  // of a line's time: chains that distinguish kinds take as much
constexpr double kSamples = 30;   // and as many samples: less would show by chance
constexpr double kRuns = 0.25;    // of what a chain takes where it runs

/// A chain on the lines of one rank of the analysis.
struct ChainSum {
  std::uint32_t chain = 0, own_lines = 0, all_lines = 0;
  std::uint32_t unused = 0;  // sent as it is
  std::uint64_t own_ns = 0, all_ns = 0;
};

struct KindOfLine {
  std::uint64_t code = 0;  // hash of what it runs
};

}  // namespace

CodeOfLines::CodeOfLines(exchange::Communicator& analysis, const TraceStore& store,
                         const ProcedureChains& chains)
    : store_(&store), chains_(&chains) {
  std::uint64_t longest = 0;
  for (const TimeLine& line : store.lines()) {
    std::map<std::uint32_t, std::uint64_t> own;
    line.samples.go_through([&](const Sample& sample) { own[chains.of(sample.charged)] += sample.ns; });
    Line& kept = lines_.emplace_back();
    for (const auto& [chain, ns] : own) kept.own.push_back({.chain = chain, .ns = ns, .surplus = 0});
    kept.all = with_callees(kept.own);
    longest = std::max(longest, line.sample_ns);
  }
  sample_ns_ = static_cast<double>(analysis.all_max(longest));
  add_up(analysis);
  find_kinds(analysis);
  for (Line& line : lines_) find_surpluses(line);
}

/// What a line has in each chain and in those that it calls; in order.
std::vector<CodeOfLines::WithCallees> CodeOfLines::with_callees(const std::vector<Own>& own) const {
  std::map<std::uint32_t, std::uint64_t> all;
  for (const Own& one : own) {
    for (std::uint32_t at = one.chain;; at = chains_->parent(at)) {
      all[at] += one.ns;
      if (at == ProcedureChains::kRoot) break;
    }
  }
  return {all.begin(), all.end()};
}

void CodeOfLines::add_up(exchange::Communicator& analysis) {
  std::map<std::uint32_t, ChainSum> sums;
  for (const Line& line : lines_) {
    for (const Own& one : line.own) {
      sums[one.chain].own_ns += one.ns;
      ++sums[one.chain].own_lines;
    }
    for (const auto& [chain, ns] : line.all) {
      sums[chain].all_ns += ns;
      ++sums[chain].all_lines;
    }
  }
  std::vector<ChainSum> own;
  own.reserve(sums.size());
  for (auto& [chain, sum] : sums) {
    sum.chain = chain;
    own.push_back(sum);
  }
  for (const ChainSum& sum : exchange::items_of_all<ChainSum>(analysis, own)) {
    Chain& all = of_chain_[sum.chain];
    all.own_ns += sum.own_ns;
    all.all_ns += sum.all_ns;
    all.own_lines += sum.own_lines;
    all.all_lines += sum.all_lines;
  }
  const auto root = of_chain_.find(ProcedureChains::kRoot);
  if (root != of_chain_.end())
    line_ns_ = static_cast<double>(root->second.all_ns) / static_cast<double>(root->second.all_lines);
}

/// The most frequent ones, each with a number of its own.
void CodeOfLines::find_kinds(exchange::Communicator& analysis) {
  const double least = std::max(kOfLine * line_ns_, kSamples * sample_ns_);
  std::vector<KindOfLine> own;
  for (const Line& line : lines_) {
    std::uint64_t code = 0;
    for (const auto& [chain, ns] : line.all) {
      const Chain& all = of_chain_.at(chain);
      const double usual = static_cast<double>(all.all_ns) / static_cast<double>(all.all_lines);
      if (usual >= least && static_cast<double>(ns) >= kRuns * usual)
        code = storage::hash_of(code, chain + std::uint64_t{1});
    }
    own.push_back({code});
  }
  std::map<std::uint64_t, std::uint64_t> lines_of;
  for (const KindOfLine& one : exchange::items_of_all<KindOfLine>(analysis, own)) ++lines_of[one.code];
  std::vector<std::pair<std::uint64_t, std::uint64_t>> kinds(lines_of.begin(), lines_of.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<std::uint64_t, std::uint32_t> number;
  for (const auto& [code, lines] : kinds)
    number[code] = std::min<std::uint32_t>(static_cast<std::uint32_t>(number.size()), kKinds - 1);
  for (std::size_t i = 0; i < lines_.size(); ++i) lines_[i].kind = number.at(own[i].code);
}

std::uint32_t CodeOfLines::kind(Location line) const {
  return store_ == nullptr ? 0 : lines_[store_->index_of(line)].kind;
}

/// By how many ns a line is above the mean of the others, of `lines` that took `all_ns` together.
double CodeOfLines::surplus(std::uint64_t ns, std::uint64_t all_ns, std::uint32_t lines) const {
  if (lines < 2) return 0;
  const auto own = static_cast<double>(ns);
  const double others = static_cast<double>(all_ns - ns), count = lines - 1;
  const double more = own - others / count;
  const double variance = sample_ns_ * (own + others / (count * count));
  return more > kSignificant * std::sqrt(variance) ? more : 0;
}

/// Code that the line alone ran, as an inlined procedure, has nobody to be compared with: it bears the
/// surplus of the innermost chain around it that others ran, with all others of its kind there.
void CodeOfLines::find_surpluses(Line& line) const {
  const auto shared = [&](std::uint32_t chain) {
    while (chain != ProcedureChains::kRoot && of_chain_.at(chain).all_lines < 2)
      chain = chains_->parent(chain);
    return chain;
  };
  std::map<std::uint32_t, std::uint64_t> alone;  // by the chain around
  for (Own& one : line.own) {
    const Chain& all = of_chain_.at(one.chain);
    if (all.own_lines < 2) alone[shared(one.chain)] += one.ns;
    one.surplus = surplus(one.ns, all.own_ns, all.own_lines) / static_cast<double>(one.ns);
  }
  if (alone.empty()) return;
  std::map<std::uint32_t, double> left;
  for (const auto& [chain, ns] : line.all) {
    if (!alone.contains(chain)) continue;
    const Chain& all = of_chain_.at(chain);
    left[chain] = std::min(1., surplus(ns, all.all_ns, all.all_lines) / static_cast<double>(alone.at(chain)));
  }
  for (Own& one : line.own) {
    if (of_chain_.at(one.chain).own_lines < 2) one.surplus = left.at(shared(one.chain));
  }
}

double CodeOfLines::surplus(Location line, std::uint32_t chain) const {
  if (store_ == nullptr) return 0;
  const std::vector<Own>& own = lines_[store_->index_of(line)].own;
  const auto found = std::ranges::lower_bound(own, chain, {}, &Own::chain);
  return found == own.end() || found->chain != chain ? 0 : found->surplus;
}

}  // namespace culprit::waits
