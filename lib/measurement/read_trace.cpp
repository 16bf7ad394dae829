// Reads the outline of a process's trace (docs/formats.md): the blocks of each thread by the index, or, where
// the process was killed or runs still, by the headers of all slots; and the process's definitions. Records
// are read later, block by block (trace_records.cpp). Of a block to which the process has added since then,
// the part that the outline has is read. Bounds keep a few damaged bytes from claiming much memory.
#include "measurement/checksum.hpp"
#include "measurement/decoder.hpp"
#include "measurement/live_trace.hpp"
#include "measurement/reading.hpp"
#include "measurement/trace.hpp"

#include <algorithm>
#include <cstring>

namespace culprit::measurement::trace {
namespace {

constexpr std::uint64_t kMostSlots = kMostTraceBytes / kSlot;

/// Ranks in all definitions of a process: some bytes may stand for any number of them. Rank 0 of the largest
/// machines has room for dozens of communicators of all ranks.
constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 26;

std::vector<std::int32_t> read_ranks(Decoder& in, std::uint64_t& budget) {
  std::uint64_t left = in.varint();
  if (left > budget) in.fail("have more ranks than there can be");
  budget -= left;
  std::vector<std::int32_t> ranks;
  std::int64_t expected = 0;
  while (left > 0) {
    const std::int64_t first = expected + in.zigzag() % (std::int64_t{1} << 32);
    const std::uint64_t length = in.varint() + 1;
    if (length == 0 || length > left || first < kNobody ||
        first > INT32_MAX - static_cast<std::int64_t>(length)) {
      in.fail("name ranks that cannot be");
    }
    for (std::uint64_t i = 0; i < length; ++i)
      ranks.push_back(static_cast<std::int32_t>(first + static_cast<std::int64_t>(i)));
    expected = first + static_cast<std::int64_t>(length);
    left -= length;
  }
  return ranks;
}

Definition read_definition(Decoder& in, std::uint64_t& budget) {
  Definition definition;
  const unsigned kind = in.byte();
  if (kind >= kDefinitionKinds) in.fail("define something unknown");
  definition.kind = static_cast<DefinitionKind>(kind);
  definition.global_id = in.varint();
  definition.size = in.number();
  definition.rank = static_cast<std::int32_t>(in.zigzag());
  definition.parent = in.number() - 1;
  definition.members = read_ranks(in, budget);
  definition.remote = read_ranks(in, budget);
  definition.sources = read_ranks(in, budget);
  definition.destinations = read_ranks(in, budget);
  return definition;
}

ClockPair read_clocks(Decoder& in) {
  ClockPair pair;
  pair.monotonic_ns = in.varint();
  pair.realtime_ns = in.zigzag();
  pair.reference = static_cast<std::int32_t>(in.zigzag());
  pair.reference_ns = in.varint();
  pair.round_trip_ns = in.varint();
  if (pair.monotonic_ns > kEndOfTime || pair.reference_ns > kEndOfTime) in.fail("hold a time that cannot be");
  return pair;
}

/// The next record of the process's stream as bytes of their own; empty at an incomplete one.
std::span<const std::byte> next_record(std::span<const std::byte>& stream) {
  bytes::Reader in(stream);
  const auto record = in.get_bytes();
  stream = stream.last(in.remaining());
  return record;
}

}  // namespace

std::filesystem::path trace_path(const std::filesystem::path& measurement) {
  std::filesystem::path path = measurement;
  path += ".trace";
  return path;
}

EndReason ProcessTrace::end() const {
  return end_reason(header_.end_reason);
}

ProcessTrace::ProcessTrace(const std::filesystem::path& path) : file_(path, window_) {
  read_header();
  if (header_.index_entries != 0) {
    read_index();
  } else {
    scan_slots();
  }
  sort_blocks();
  read_process();
  window_ = {};
}

void ProcessTrace::read_header() {
  if (file_.size() < sizeof header_) throw damaged(path(), "it ends within its header");
  std::memcpy(&header_, file_.view(0, sizeof header_).data(), sizeof header_);
  if (std::memcmp(header_.magic, kMagic, sizeof kMagic) != 0) {
    throw MeasurementError(path(), "is not a trace (remove it from the measurement directory)");
  }
  check_version(path(), header_.version, kOldestVersion, kVersion);
  if (header_.checksum != XXH64(&header_, offsetof(Header, checksum), 0))
    throw damaged(path(), "its header does not match its checksum");
  if (header_.slot != kSlot || header_.header_size < sizeof header_)
    throw damaged(path(), "its header is wrong");
  if (header_.slots > 1 && file_.size() < (header_.slots - 1) * std::uint64_t{kSlot} + sizeof(BlockHeader)) {
    throw damaged(path(), "only " + std::to_string(file_.size()) + " bytes of its " +
                              std::to_string(header_.slots) + " slots of " + std::to_string(kSlot) +
                              " are there");
  }
  if (file_.size() > 2 * kMostTraceBytes) throw damaged(path(), "it is larger than any trace");
}

void ProcessTrace::read_index() {
  const std::uint64_t size = std::uint64_t{header_.index_entries} * sizeof(IndexEntry);
  if (header_.index_entries > kMostSlots || header_.index_offset > file_.size() ||
      size > file_.size() - header_.index_offset) {
    throw damaged(path(), "its index is out of bounds");
  }
  const auto bytes = file_.view(header_.index_offset, static_cast<std::size_t>(size));
  if (XXH64(bytes.data(), bytes.size(), 0) != header_.index_checksum) {
    throw damaged(path(), "the checksum of its index is wrong");
  }
  for (std::uint32_t i = 0; i < header_.index_entries; ++i) {
    IndexEntry entry{};
    std::memcpy(&entry, bytes.data() + std::size_t{i} * sizeof entry, sizeof entry);
    if (entry.base_ns == 0 && entry.used == 0) continue;  // the slot holds nothing
    add_block(entry.stream, {.slot = i + 1,
                             .sequence = entry.sequence,
                             .used = entry.used,
                             .base_ns = entry.base_ns,
                             .last_ns = entry.last_ns});
  }
}

void ProcessTrace::scan_slots() {
  const bool ended = (header_.flags & kAllWritten) != 0;
  const std::uint64_t slots = ended ? header_.slots : (file_.size() + kSlot - 1) / kSlot;
  for (std::uint64_t slot = 1; slot < slots; ++slot) {
    const std::uint64_t offset = slot * kSlot;
    if (const std::uint64_t data = file_.next_data(offset); data >= offset + kSlot) {
      slot = data / kSlot - 1;
      continue;
    }
    BlockHeader header{};
    file_.copy(offset, reinterpret_cast<std::byte*>(&header), sizeof header);
    if (header.magic == 0 && header.header_checksum == 0) continue;  // was not written yet
    check_block(header);
    add_block(header.stream, {.slot = static_cast<std::uint32_t>(slot),
                              .sequence = header.sequence,
                              .used = header.used,
                              .base_ns = header.base_ns,
                              .last_ns = header.last_ns});
  }
}

void ProcessTrace::check_block(const BlockHeader& header) const {
  if (header.magic != kBlockMagic || header.used > kPayload ||
      header.header_checksum != XXH64(&header, offsetof(BlockHeader, header_checksum), 0)) {
    throw damaged(path(), "the header of a block is wrong");
  }
}

bool ProcessTrace::is_of(const ProcessInfo& process) const {
  return header_.key == process.key && header_.pid == process.pid && header_.start_ns == process.start_ns &&
         header_.start_realtime_ns == process.start_realtime_ns;
}

void ProcessTrace::add_block(std::uint32_t stream, const Thread::Block& block) {
  if (block.used > kPayload) throw damaged(path(), "a block is larger than its slot");
  bytes_ += block.used;
  if (stream == kProcessStream) {
    process_.blocks.push_back(block);
    return;
  }
  const auto [place, fresh] = positions_.try_emplace(stream, threads_.size());
  if (fresh) threads_.push_back({.ordinal = stream, .bytes = 0, .blocks = {}});
  Thread& thread = threads_[place->second];
  thread.bytes += block.used;
  thread.blocks.push_back(block);
}

void ProcessTrace::sort_blocks() {
  const auto sort = [this](Thread& thread) {
    std::ranges::sort(thread.blocks, {}, &Thread::Block::sequence);
    const auto same = std::ranges::adjacent_find(thread.blocks, {}, &Thread::Block::sequence);
    if (same != thread.blocks.end()) throw damaged(path(), "a block is there twice");
  };
  positions_.clear();
  std::ranges::sort(threads_, {}, &Thread::ordinal);
  std::ranges::for_each(threads_, sort);
  sort(process_);
}

void ProcessTrace::read_block(std::uint32_t stream, const Thread::Block& block, std::byte* to) const {
  const std::uint64_t offset = std::uint64_t{block.slot} * kSlot;
  BlockHeader header{};
  file_.copy(offset, reinterpret_cast<std::byte*>(&header), sizeof header);
  const bool complete = (header.flags & kBlockComplete) != 0;
  if (header.magic != kBlockMagic || header.stream != stream || header.sequence != block.sequence ||
      header.base_ns != block.base_ns || header.used < block.used ||
      (complete && header.used != block.used && sealed())) {
    throw damaged(path(), "a block is not the one that was there");
  }
  check_block(header);
  file_.copy(offset + sizeof header, to, block.used);
  if (header.used == block.used) {
    if (XXH64(to, block.used, 0) != header.checksum)
      throw damaged(path(), "the checksum of a block is wrong");
    return;
  }
  // It was added to since the outline was read: what was there then is the beginning of what is there now.
  std::vector<std::byte> all(header.used);
  file_.copy(offset + sizeof header, all.data(), all.size());
  if (XXH64(all.data(), all.size(), 0) != header.checksum)
    throw damaged(path(), "the checksum of a block is wrong");
}

void ProcessTrace::read_process() {
  std::vector<std::byte> stream;
  std::uint32_t expected = 0;
  for (const Thread::Block& block : process_.blocks) {
    if (block.sequence != expected++) throw damaged(path(), "a block of its definitions is missing");
    const std::size_t before = stream.size();
    stream.resize(before + block.used);
    read_block(kProcessStream, block, stream.data() + before);
  }
  std::span<const std::byte> left(stream);
  std::uint64_t budget = kMostRanks;
  while (!left.empty()) {
    const auto record = next_record(left);
    if (record.empty()) continue;
    Decoder in(path(), "the definitions", record);
    const unsigned type = in.byte();
    if (type == kDefinition) definitions_.push_back(read_definition(in, budget));
    if (type == kClockPair) clocks_.push_back(read_clocks(in));
  }
  for (std::size_t i = 0; i < definitions_.size(); ++i) {
    if (definitions_[i].parent >= i) definitions_[i].parent = kNoContext;
  }
}

}  // namespace culprit::measurement::trace
