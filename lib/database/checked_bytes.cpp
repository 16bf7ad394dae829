#include "database/checked_bytes.hpp"

#include "database/encoding.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

constexpr std::uint64_t aligned(std::uint64_t size) {
  return (size + format::kAlignment - 1) / format::kAlignment * format::kAlignment;
}

constexpr std::uint64_t chunks(std::uint64_t size) {
  return (size + format::kChunk - 1) / format::kChunk;
}

constexpr std::uint64_t checksums_size(std::uint64_t size) {
  return chunks(size) * sizeof(std::uint64_t);
}

}  // namespace

struct CheckedBytes::State {
  std::filesystem::path path;
  std::string what;
  ByteSpan sums;
  std::uint64_t sum = 0;
  std::atomic<bool> sums_good{false};
  std::unique_ptr<std::atomic<bool>[]> good;  ///< per chunk
};

CheckedBytes::CheckedBytes(ByteSpan file, std::uint64_t offset, std::uint64_t size, std::uint64_t sum,
                           const std::filesystem::path& path, std::string what)
    : state_(std::make_shared<State>()) {
  state_->path = path;
  state_->what = std::move(what);
  state_->sum = sum;
  if (offset > file.size() || size > file.size() - offset) fail("lies outside the file");
  const std::uint64_t sums = offset + aligned(size);
  if (sums > file.size() || checksums_size(size) > file.size() - sums) fail("has no checksums");
  state_->sums = file.subspan(sums, checksums_size(size));
  state_->good = std::make_unique<std::atomic<bool>[]>(chunks(size));
  good_ = state_->good.get();
  data_ = file.data() + offset;
  size_ = size;
}

void CheckedBytes::fail(const char* why) const {
  if (!state_) throw DatabaseError({}, std::string("nothing ") + why);
  throw DatabaseError(state_->path, state_->what + " " + why + " (merge again)");
}

void CheckedBytes::verify(std::uint64_t chunk) const {
  State& state = *state_;
  if (!state.sums_good.load(std::memory_order_relaxed)) {
    if (checksum(state.sums) != state.sum) fail("has checksums that do not match their own");
    state.sums_good.store(true, std::memory_order_relaxed);
  }
  const std::uint64_t begin = chunk * format::kChunk;
  const std::uint64_t length = std::min(format::kChunk, size_ - begin);
  std::uint64_t expected = 0;
  std::memcpy(&expected, state.sums.data() + chunk * sizeof expected, sizeof expected);
  if (checksum({data_ + begin, static_cast<std::size_t>(length)}) != expected) {
    fail("is damaged: it does not match its checksum");
  }
  good_[chunk].store(true, std::memory_order_relaxed);
}

std::uint64_t part_size(std::uint64_t size) {
  return aligned(size) + checksums_size(size);
}

Bytes checksums_of(ByteSpan bytes, std::uint64_t& sum) {
  Encoder into;
  into.pad(aligned(bytes.size()) - bytes.size());
  const std::size_t begin = into.size();
  for (std::uint64_t at = 0; at < bytes.size(); at += format::kChunk) {
    into.put(checksum(bytes.subspan(at, std::min<std::uint64_t>(format::kChunk, bytes.size() - at))));
  }
  sum = checksum(ByteSpan(into.bytes()).subspan(begin));
  return into.take();
}

}  // namespace culprit::database
