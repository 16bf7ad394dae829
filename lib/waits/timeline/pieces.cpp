#include "waits/timeline/pieces.hpp"

#include "exchange/message_exchange.hpp"

#include <algorithm>

namespace culprit::waits {

Pieces::Pieces(exchange::Communicator& analysis, const PieceNumbers& own) {
  constexpr Piece kMet{Piece::kMet, Piece::kCall};
  std::vector<Piece> found = own.pieces();
  found.push_back(kMet);
  // Every call is the end of a gap.
  for (const Piece& gap : own.pieces()) found.push_back({gap.next, Piece::kCall});
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  all_ = exchange::items_of_all<Piece>(analysis, found);
  std::sort(all_.begin(), all_.end());
  all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  const auto number = [this](const Piece& piece) {
    return static_cast<std::uint32_t>(std::lower_bound(all_.begin(), all_.end(), piece) - all_.begin());
  };
  met_ = number(kMet);
  for (const Piece& gap : own.pieces()) {
    of_gap_.push_back(number(gap));
    if (gap.next >= of_call_.size()) of_call_.resize(gap.next + 1, 0);
    of_call_[gap.next] = number({gap.next, Piece::kCall});
  }
}

}  // namespace culprit::waits
