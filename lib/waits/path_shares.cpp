#include "waits/path_shares.hpp"

#include <algorithm>

namespace culprit::waits {

std::uint64_t share(std::uint64_t amount, std::uint64_t part, std::uint64_t whole) {
  __extension__ using Wide = unsigned __int128;
  if (part == whole || whole == 0) return whole == 0 ? 0 : amount;
  std::uint64_t product = 0;
  if (!__builtin_mul_overflow(amount, part, &product)) return product / whole;  // mostly, and much faster
  return static_cast<std::uint64_t>(Wide{amount} * part / whole);
}

std::vector<PathShare> divide_over_paths(const Piece& piece,
                                         const std::map<std::uint32_t, std::uint64_t>& weights,
                                         const std::vector<std::uint64_t>& amounts) {
  if (piece.next == Piece::kCall) return {{{piece.previous, piece}, amounts}};
  std::uint64_t sum = 0;
  for (const auto& [context, weight] : weights) sum += weight;
  if (sum == 0) return {{{PathOfPiece::kBetween, piece}, amounts}};

  std::vector<PathShare> shares;
  std::vector<std::uint64_t> left = amounts;
  std::size_t heaviest = 0;
  std::uint64_t most = 0;
  for (const auto& [context, weight] : weights) {
    if (weight == 0) continue;
    PathShare& one = shares.emplace_back(PathShare{{context, piece}, {}});
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      one.amounts.push_back(share(amounts[i], weight, sum));
      left[i] -= one.amounts[i];
    }
    if (weight > most) {
      most = weight;
      heaviest = shares.size() - 1;
    }
  }
  for (std::size_t i = 0; i < amounts.size(); ++i) shares[heaviest].amounts[i] += left[i];
  return shares;
}

}  // namespace culprit::waits
