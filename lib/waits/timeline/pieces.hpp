#pragma once

#include "exchange/communicator.hpp"
#include "storage/hash.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A piece of a time line that can be compared with the same piece of another one: the gap between two calls,
/// by the call paths of both, or, with kCall as `next`, a call itself by its path.
struct Piece {
  static constexpr std::uint32_t kCall = ~std::uint32_t{0};
  static constexpr std::uint32_t kStart = kCall - 1;  ///< as `previous`: before the first call
  static constexpr std::uint32_t kMet = kCall - 2;    ///< as `previous` of a call: that in which the two met
  std::uint32_t previous = 0, next = 0;

  friend auto operator<=>(const Piece&, const Piece&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Numbers the pieces that occur, as they do. A program has few, however long it runs.
class PieceNumbers {
 public:
  std::uint32_t number(const Piece& piece) {
    const std::uint64_t key = storage::joined(piece.previous, piece.next);
    Seen& seen = seen_[storage::hash_of(key) % kSeen];
    if (seen.key == key) return seen.number;
    const auto [entry, added] = numbers_.try_emplace(key, static_cast<std::uint32_t>(pieces_.size()));
    if (added) pieces_.push_back(piece);
    seen = {key, entry->second};
    return entry->second;
  }
  /// By number.
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };
  /// The one of these hashes that was asked for last: mostly the same few come again and again.
  struct Seen {
    std::uint64_t key = storage::joined(Piece::kCall, Piece::kCall);
    std::uint32_t number = 0;
  };
  static constexpr std::size_t kSeen = 256;
  std::vector<Seen> seen_ = std::vector<Seen>(kSeen);
  tsl::robin_map<std::uint64_t, std::uint32_t, Hash> numbers_;
  std::vector<Piece> pieces_;
};

/// The pieces of all time lines, numbered in their order: the same on all ranks of the analysis.
class Pieces {
 public:
  Pieces() = default;
  /// Collective. `own` are the gaps that this rank found.
  Pieces(exchange::Communicator& analysis, const PieceNumbers& own);

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] const Piece& operator[](std::uint32_t number) const { return all_[number]; }
  /// The number of a gap that is own.pieces()[gap].
  [[nodiscard]] std::uint32_t of_gap(std::uint32_t gap) const { return of_gap_[gap]; }
  /// The number of what is left of a call in which two time lines met, whatever the two calls are.
  [[nodiscard]] std::uint32_t met() const { return met_; }
  /// The number of a call with this path.
  [[nodiscard]] std::uint32_t of_call(std::uint32_t context) const { return of_call_[context]; }

 private:
  std::vector<Piece> all_;
  std::uint32_t met_ = 0;
  std::vector<std::uint32_t> of_gap_;
  std::vector<std::uint32_t> of_call_;  // by context: those of the united tree are dense
};

}  // namespace culprit::waits
