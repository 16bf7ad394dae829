#include "structure/code_map.hpp"
#include "structure_validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

// Any bytes are no map, or one that is whole, tells of every address of its pieces, and is written as it was
// read.
namespace {

namespace structure = culprit::structure;

void check(const structure::CodeMap& map) {
  if (!validity::invalid(map.said(), map.pieces().size()).empty()) abort();
  std::vector<std::uint64_t> addresses;
  for (const structure::Range& piece : map.pieces()) {
    if (piece.low >= piece.high || (!addresses.empty() && piece.low <= addresses.back())) abort();
    addresses.push_back(piece.low);
    if (piece.high - 1 != piece.low) addresses.push_back(piece.high - 1);
  }
  if (!map.unknown(addresses).empty()) abort();
  if (!validity::invalid(map.around(addresses), addresses.size()).empty()) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto map = structure::decode_code_map(std::as_bytes(std::span(data, size)));
  if (!map) return 0;
  check(*map);
  const std::vector<std::byte> written = structure::encode(*map);
  const auto again = structure::decode_code_map(std::as_bytes(std::span(written)));
  if (!again || structure::encode(*again) != written) abort();
  return 0;
}
