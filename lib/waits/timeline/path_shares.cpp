// Divides whole numbers of ns over call paths in proportion to weights (docs/algorithms.md 8, 8.1): each part
// rounded down, what is left to the heaviest path, so that the parts add up. Exact: products of 128 bits
// where 64 do not do, floating point only where it is exact.
#include "waits/timeline/path_shares.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

/// product / whole, rounded down. By floating point where that is exact, which is mostly, and much faster.
std::uint64_t quotient(std::uint64_t product, std::uint64_t whole) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 52;
  if (product >= kExact || whole >= kExact) return product / whole;
  // The quotient of two such numbers lies further below the next whole number than rounding takes it.
  return static_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(product)) /
                                    static_cast<double>(static_cast<std::int64_t>(whole)));
}

}  // namespace

std::uint64_t share(std::uint64_t amount, std::uint64_t part, std::uint64_t whole) {
  __extension__ using Wide = unsigned __int128;
  if (part == 0 || whole == 0) return 0;
  if (part == whole) return amount;
  std::uint64_t product = 0;
  if (!__builtin_mul_overflow(amount, part, &product)) return quotient(product, whole);
  return static_cast<std::uint64_t>(Wide{amount} * part / whole);
}

std::vector<PathShare> divide_over_paths(const std::vector<PathWeight>& weights,
                                         const std::vector<std::uint64_t>& amounts) {
  std::uint64_t sum = 0;
  for (const PathWeight& one : weights) sum += one.weight;
  std::vector<PathShare> shares;
  std::vector<std::uint64_t> left = amounts;
  std::size_t heaviest = 0;
  std::uint64_t most = 0;
  for (const PathWeight& path : weights) {
    if (path.weight == 0) continue;
    PathShare& one = shares.emplace_back(PathShare{path.path, {}});
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      one.amounts.push_back(share(amounts[i], path.weight, sum));
      left[i] -= one.amounts[i];
    }
    if (path.weight > most) {
      most = path.weight;
      heaviest = shares.size() - 1;
    }
  }
  if (shares.empty()) return shares;
  for (std::size_t i = 0; i < amounts.size(); ++i) shares[heaviest].amounts[i] += left[i];
  return shares;
}

std::vector<PathShare> divide_over_paths(const Region& region,
                                         const std::map<std::uint32_t, std::uint64_t>& weights,
                                         const std::vector<std::uint64_t>& amounts) {
  if (region.next == Region::kCall) return {{{region.previous, region}, amounts}};
  std::vector<PathWeight> paths;
  paths.reserve(weights.size());
  for (const auto& [context, weight] : weights) paths.push_back({{context, region}, weight});
  std::vector<PathShare> shares = divide_over_paths(paths, amounts);
  if (shares.empty()) return {{{PathOfRegion::kBetween, region}, amounts}};
  return shares;
}

}  // namespace culprit::waits
