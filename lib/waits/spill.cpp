#include "waits/spill.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace culprit::waits {

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
  options_.block = (std::max(options_.block, kLeastBlock) + kAligned - 1) / kAligned * kAligned;
  options_.calls_sorted_together = std::bit_floor(std::max<std::uint32_t>(options_.calls_sorted_together, 1));
  // One block is read or changed at a time: a single frame would do.
  most_frames_ = std::max<std::size_t>(options_.memory / options_.block, 1);
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

Spill::Block Spill::allocate() {
  Block block = static_cast<Block>(states_.size());
  if (free_blocks_.empty()) {
    states_.emplace_back();
  } else {
    block = free_blocks_.back();
    free_blocks_.pop_back();
  }
  take_frame(block);
  states_[block].used = states_[block].changed = true;
  return block;
}

void Spill::release(Block block) {
  State& state = states_[block];
  if (state.memory != nullptr) {
    frames_[state.frame].owner = kNobody;
    free_frames_.push_back(state.frame);
  }
  if (state.slot != kNoSlot) free_slots_.push_back(state.slot);
  state = {};
  free_blocks_.push_back(block);
}

/// Gives the block memory, which another block may have to leave.
void Spill::take_frame(Block owner) {
  auto at = static_cast<std::uint32_t>(frames_.size());
  if (!free_frames_.empty()) {
    at = free_frames_.back();
    free_frames_.pop_back();
  } else if (frames_.size() < most_frames_) {
    add_frame();
  } else {
    const auto next = [this](std::uint32_t frame) { return frame + 1 == frames_.size() ? 0 : frame + 1; };
    for (;; hand_ = next(hand_)) {
      State& state = states_[frames_[hand_].owner];
      if (!std::exchange(state.used, false)) break;
    }
    at = hand_;
    hand_ = next(hand_);
    put_away(frames_[at].owner);
  }
  frames_[at].owner = owner;
  states_[owner].memory = frames_[at].memory;
  states_[owner].frame = at;
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
  frames_.push_back({chunks_.back().get() + place * options_.block, kNobody});
}

void Spill::put_away(Block block) {
  State& state = states_[block];
  if (state.changed) {
    if (file_ < 0) open_file();
    if (state.slot == kNoSlot) {
      if (free_slots_.empty()) {
        state.slot = slots_++;
      } else {
        state.slot = free_slots_.back();
        free_slots_.pop_back();
      }
    }
    for (std::size_t done = 0; done < options_.block;) {
      const ssize_t some = ::pwrite(file_, state.memory + done, options_.block - done,
                                    static_cast<off_t>(state.slot * options_.block + done));
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) fail("cannot write", some < 0 ? errno : ENOSPC);
      done += static_cast<std::size_t>(some);
    }
    written_ += options_.block;
  }
  state.memory = nullptr;
  state.changed = false;
}

void Spill::load(Block block) {
  take_frame(block);
  const State& state = states_[block];
  for (std::size_t done = 0; done < options_.block;) {
    const ssize_t some = ::pread(file_, state.memory + done, options_.block - done,
                                 static_cast<off_t>(state.slot * options_.block + done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) fail("cannot read", some < 0 ? errno : EIO);
    done += static_cast<std::size_t>(some);
  }
}

void Spill::open_file() {
  file_ = open_unlinked(options_.directory);
  if (file_ < 0) fail("cannot make", errno);
}

}  // namespace culprit::waits
