#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

namespace culprit::waits {

/// What does not fit into memory could not be put into a file or read back. what() is one line: where, why
/// and what to do.
class SpillError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct SpillOptions {
  /// Of the file, unless there is $TMPDIR; empty: /tmp.
  std::filesystem::path directory = {};
  /// What an error says was being done.
  const char* purpose = "analyse time lines";
  /// Bytes that stay in memory, per rank of the analysis: a run of some seconds then needs no file at all,
  /// and the ranks of the analysis on one machine leave it room.
  std::size_t memory = std::size_t{256} << 20;
  /// Bytes of a block: as large as keeps writing sequential, as small as lets thousands of time lines have
  /// some blocks each in memory.
  std::size_t block = std::size_t{16} << 10;
  /// What comes in no order is sorted by so many calls of a time line at a time (rounded down to a power of
  /// two).
  std::uint32_t calls_sorted_together = 4096;
};

/// Memory in blocks of one size, of which as many as are allowed stay in memory and the rest lies in an
/// unlinked temporary file, made when the first block has to go. The blocks that were not used for longest go
/// first (approximately: by a clock). Not thread-safe: each rank of the analysis has its own.
class Spill {
 public:
  using Block = std::uint32_t;
  /// Blocks are no smaller: every sort of item fits into one.
  static constexpr std::size_t kLeastBlock = 64;

  explicit Spill(SpillOptions options = {});
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  [[nodiscard]] const SpillOptions& options() const { return options_; }

  /// A new block; what is in it is undefined.
  Block allocate();
  void release(Block block);
  /// A block's bytes, to be read, until any other call. Throws SpillError.
  const std::byte* read(Block block) {
    State& state = states_[block];
    if (state.memory == nullptr) load(block);
    state.used = true;
    return state.memory;
  }
  /// The same, to be changed.
  std::byte* write(Block block) {
    State& state = states_[block];
    if (state.memory == nullptr) load(block);
    state.used = state.changed = true;
    return state.memory;
  }

  /// Bytes that went to the file so far, and its size.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return std::uint64_t{slots_} * options_.block; }

 private:
  using Slot = std::uint32_t;
  static constexpr Slot kNoSlot = ~Slot{0};
  static constexpr Block kNobody = ~Block{0};

  struct State {
    std::byte* memory = nullptr;  // in a frame; null: in the file only
    Slot slot = kNoSlot;          // in the file
    std::uint32_t frame = 0;
    bool used = false, changed = false;
  };
  struct Frame {
    std::byte* memory = nullptr;
    Block owner = kNobody;
  };
  struct Free {
    void operator()(std::byte* memory) const;
  };
  /// Frames are taken from the system so many bytes at a time: its large pages, of which one costs hardly
  /// more than a small one.
  static constexpr std::size_t kChunk = std::size_t{2} << 20;

  void load(Block block);
  void take_frame(Block owner);
  void put_away(Block block);
  void add_frame();
  void open_file();
  [[noreturn]] void fail(const char* what, int error) const;

  SpillOptions options_;
  std::size_t most_frames_ = 1;
  std::vector<State> states_;  // by block
  std::vector<Block> free_blocks_;
  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
  std::size_t frames_in_chunk_ = 1;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> free_frames_;
  std::uint32_t hand_ = 0;
  int file_ = -1;
  Slot slots_ = 0;
  std::vector<Slot> free_slots_;
  std::uint64_t written_ = 0;
};

}  // namespace culprit::waits
