#include "storage/spilled_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace culprit::storage {

void SpilledBytes::append(std::span<const std::byte> bytes) {
  const std::size_t block = spill_->options().block;
  while (!bytes.empty()) {
    const std::size_t at = size_ % block;
    if (at == 0) blocks_.push_back(spill_->allocate(sizeof(std::byte)));
    const std::size_t some = std::min(block - at, bytes.size());
    std::memcpy(spill_->write(blocks_.back()) + at, bytes.data(), some);
    bytes = bytes.subspan(some);
    size_ += some;
  }
}

void SpilledBytes::read(std::uint64_t at, std::span<std::byte> into) const {
  if (at > size_ || into.size() > size_ - at) throw std::out_of_range("bytes that were not spilled");
  const std::size_t block = spill_->options().block;
  while (!into.empty()) {
    const std::size_t within = at % block;
    const std::size_t some = std::min(block - within, into.size());
    std::memcpy(into.data(), spill_->read(blocks_[at / block]) + within, some);
    into = into.subspan(some);
    at += some;
  }
}

}  // namespace culprit::storage
