// Memory in blocks of one size for more items than fit (docs/algorithms.md 16). Blocks that were not used for
// longest (a clock with a used bit) are packed (packed_items.cpp), three quarters of the memory may hold
// packed ones; what still does not fit goes, packed, to an unlinked file in $TMPDIR or beside the output. A
// block comes back when it is read. Cost: packing a call takes 2.0 ns, unpacking it 1.5 (docs/figures.md).
#include "storage/spill.hpp"

#include "storage/packed_items.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace culprit::storage {

namespace {

std::filesystem::path place_for(const std::filesystem::path& directory) {
  const char* const named = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (named != nullptr && *named != '\0') return named;
  return directory.empty() ? "/tmp" : directory;
}

/// An unlinked file, or -1 and errno. Not every file system knows files without a name.
int open_unlinked(const std::filesystem::path& directory) {
  const int unnamed = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return unnamed;
  std::string name = (directory / ".culprit-spill-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

Spill::Spill(SpillOptions options) : options_(std::move(options)) {
  constexpr std::size_t kAligned = alignof(std::max_align_t);
  static_assert(kAligned % kUnits == 0);
  options_.block = (std::max(options_.block, kLeastBlock) + kAligned - 1) / kAligned * kAligned;
  options_.calls_sorted_together = std::bit_floor(std::max<std::uint32_t>(options_.calls_sorted_together, 1));
  // One block is read or changed at a time: a single frame would do.
  most_frames_ = std::max<std::size_t>(options_.memory / options_.block, 1);
  most_with_slots_ = most_frames_ - std::max<std::size_t>(most_frames_ / kUnpacked, 1);
  unit_ = options_.block / kUnits;
  with_free_slots_.fill(kNone);
  frames_in_chunk_ = std::clamp<std::size_t>(kChunk / options_.block, 1, most_frames_);
  options_.directory = place_for(options_.directory);
}

Spill::~Spill() {
  if (file_ >= 0) ::close(file_);
}

void Spill::fail(const char* what, int error) const {
  throw SpillError(
      std::string(options_.purpose) + ": " + options_.directory.string() + ": " + what +
      " a temporary file: " + std::strerror(error) +  // NOLINT(concurrency-mt-unsafe): GNU's is safe
      " (make room there, or name another place with TMPDIR)");
}

Spill::Block Spill::allocate(std::size_t item_bytes) {
  Block block = static_cast<Block>(states_.size());
  if (free_blocks_.empty()) {
    states_.emplace_back();
  } else {
    block = free_blocks_.back();
    free_blocks_.pop_back();
  }
  take_frame(block);
  State& state = states_[block];
  state.used = state.changed = true;
  const std::size_t columns = item_bytes / sizeof(std::uint32_t);
  const bool even = item_bytes % sizeof(std::uint32_t) == 0;
  if (even && columns <= kMostColumns) state.columns = static_cast<std::uint8_t>(columns);
  return block;
}

void Spill::release(Block block) {
  State& state = states_[block];
  if (state.memory != nullptr) {
    frames_[state.frame].owner = kNone;
    free_frames_.push_back(state.frame);
  }
  drop_copy(state);
  state = {};
  free_blocks_.push_back(block);
}

/// Gives the block memory, which another block may have to leave.
void Spill::take_frame(Block owner) {
  const std::uint32_t at = free_frame();
  frames_[at].owner = owner;
  states_[owner].memory = frames_[at].memory;
  states_[owner].frame = at;
}

std::uint32_t Spill::free_frame() {
  for (;;) {
    if (!free_frames_.empty()) {
      const std::uint32_t at = free_frames_.back();
      free_frames_.pop_back();
      return at;
    }
    if (frames_.size() < most_frames_) {
      add_frame();
      return static_cast<std::uint32_t>(frames_.size() - 1);
    }
    const std::uint32_t at = next_to_go();
    if (put_away(frames_[at].owner)) return at;
  }
}

/// The frame of the block that was not used for longest, about.
std::uint32_t Spill::next_to_go() {
  const auto next = [this](std::uint32_t frame) { return frame + 1 == frames_.size() ? 0 : frame + 1; };
  for (;; hand_ = next(hand_)) {
    const Block owner = frames_[hand_].owner;
    if (owner != kSlots && !std::exchange(states_[owner].used, false)) break;
  }
  const std::uint32_t at = hand_;
  hand_ = next(hand_);
  return at;
}

void Spill::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kChunk});
}

void Spill::add_frame() {
  const std::size_t place = frames_.size() % frames_in_chunk_;
  if (place == 0) {
    const std::size_t bytes = frames_in_chunk_ * options_.block;
    auto* const memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kChunk}));
    chunks_.emplace_back(memory);
    // Where the system has no large pages, small ones do.
    if (bytes == kChunk) ::madvise(memory, bytes, MADV_HUGEPAGE);
  }
  Frame& frame = frames_.emplace_back();
  frame.memory = chunks_.back().get() + place * options_.block;
}

/// False: its frame has slots for packed blocks now, and is not free.
bool Spill::put_away(Block block) {
  State& state = states_[block];
  const std::uint32_t frame = state.frame;
  if (state.changed) {
    drop_copy(state);
    const std::size_t bytes = pack(state);
    if (find_slot(state, bytes)) {
      std::memcpy(slot(state.place).data(), packed_.data(), bytes);
    } else {
      const auto units = static_cast<std::uint32_t>((bytes + unit_ - 1) / unit_);
      put_into_file(state, units, units == kUnits ? state.memory : packed_.data());
    }
  }
  state.memory = nullptr;
  state.changed = false;
  return frames_[frame].owner != kSlots;
}

/// Into packed_. Returns how many bytes it takes; as many as a block has: it is not worth it, or cannot be
/// done.
std::size_t Spill::pack(const State& state) {
  if (state.columns == 0) return options_.block;
  const std::size_t rows = items_in_block(state.columns * sizeof(std::uint32_t));
  const std::size_t most = most_packed(rows, state.columns);  // whole units are written, and read back
  packed_.resize(std::max(packed_.size(), (most + unit_ - 1) / unit_ * unit_));
  return std::min(pack_items({state.memory, options_.block}, rows, state.columns, packed_), options_.block);
}

/// In memory, for a packed block: where there is none yet, its own frame is divided, as long as enough others
/// are left. False: there is none.
bool Spill::find_slot(State& state, std::size_t bytes) {
  const auto slots = static_cast<std::uint32_t>(std::min<std::size_t>(options_.block / bytes, kUnits));
  if (slots < 2) return false;
  if (with_free_slots_[slots] == kNone) {
    if (with_slots_ == most_with_slots_) return false;
    ++with_slots_;
    Frame& own = frames_[state.frame];
    own.owner = kSlots;
    own.slots = slots;
    own.free = (1U << slots) - 1;
    link(state.frame);
  }
  const std::uint32_t at = with_free_slots_[slots];
  Frame& frame = frames_[at];
  const auto place = static_cast<std::uint32_t>(std::countr_zero(frame.free));
  frame.free &= frame.free - 1;
  if (frame.free == 0) unlink(at);
  state.copy = Copy::memory;
  state.place = at * kUnits + place;
  return true;
}

std::span<std::byte> Spill::slot(std::uint32_t place) const {
  const Frame& frame = frames_[place / kUnits];
  const std::size_t bytes = options_.block / frame.slots;
  return {frame.memory + place % kUnits * bytes, bytes};
}

/// It is not what the block is any more. A frame that holds no other is one like any other again.
void Spill::drop_copy(State& state) {
  if (state.copy == Copy::file) free_in_file_[state.units].push_back(state.place);
  if (std::exchange(state.copy, Copy::none) != Copy::memory) return;
  const std::uint32_t at = state.place / kUnits;
  Frame& frame = frames_[at];
  if (frame.free == 0) link(at);
  frame.free |= 1U << state.place % kUnits;
  if (frame.free != (1U << frame.slots) - 1) return;
  unlink(at);
  --with_slots_;
  frame.owner = kNone;
  free_frames_.push_back(at);
}

void Spill::link(std::uint32_t frame) {
  std::uint32_t& first = with_free_slots_[frames_[frame].slots];
  frames_[frame].previous = kNone;
  frames_[frame].next = first;
  if (first != kNone) frames_[first].previous = frame;
  first = frame;
}

void Spill::unlink(std::uint32_t frame) {
  const Frame& left = frames_[frame];
  (left.previous == kNone ? with_free_slots_[left.slots] : frames_[left.previous].next) = left.next;
  if (left.next != kNone) frames_[left.next].previous = left.previous;
}

void Spill::put_into_file(State& state, std::uint32_t units, const std::byte* data) {
  if (file_ < 0) open_file();
  std::vector<std::uint32_t>& free = free_in_file_[units];
  if (free.empty()) {
    if (units > std::numeric_limits<std::uint32_t>::max() - file_units_) fail("cannot extend", EFBIG);
    state.place = file_units_;
    file_units_ += units;
  } else {
    state.place = free.back();
    free.pop_back();
  }
  state.copy = Copy::file;
  state.units = static_cast<std::uint8_t>(units);
  const std::size_t size = units * unit_;
  for (std::size_t done = 0; done < size;) {
    const ssize_t some = ::pwrite(file_, data + done, size - done,
                                  static_cast<off_t>(state.place * std::uint64_t{unit_} + done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) fail("cannot write", some < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(some);
  }
  written_ += size;
}

void Spill::read_file(const State& state, std::byte* data) const {
  const std::size_t size = state.units * unit_;
  for (std::size_t done = 0; done < size;) {
    const ssize_t some = ::pread(file_, data + done, size - done,
                                 static_cast<off_t>(state.place * std::uint64_t{unit_} + done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) fail("cannot read", some < 0 ? errno : EIO);
    done += static_cast<std::size_t>(some);
  }
}

void Spill::load(Block block) {
  take_frame(block);
  const State& state = states_[block];
  if (state.copy == Copy::file && state.units == kUnits) {
    read_file(state, state.memory);
    return;
  }
  std::span<const std::byte> packed = packed_;
  if (state.copy == Copy::memory) {
    packed = slot(state.place);
  } else {
    read_file(state, packed_.data());
  }
  const std::size_t rows = items_in_block(state.columns * sizeof(std::uint32_t));
  unpack_items(packed, rows, state.columns, {state.memory, options_.block});
}

void Spill::open_file() {
  file_ = open_unlinked(options_.directory);
  if (file_ < 0) fail("cannot make", errno);
}

}  // namespace culprit::storage
