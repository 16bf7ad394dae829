#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

namespace culprit::storage {

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
  /// Bytes that stay in memory, per rank of the analysis: with so few, a run of some seconds needs no file
  /// at all, and the ranks of the analysis on one machine leave it room.
  std::size_t memory = kLeastMemory;
  static constexpr std::size_t kLeastMemory = std::size_t{256} << 20;
  /// Bytes of a block: as large as keeps writing sequential, as small as lets thousands of time lines have
  /// some blocks each in memory.
  std::size_t block = std::size_t{16} << 10;
  /// What comes in no order is sorted by this many calls of a time line at a time (rounded down to a power of
  /// two).
  std::uint32_t calls_sorted_together = 4096;
};

/// Memory in blocks of one size. Those that were not used for longest (approximately: by a clock) are packed
/// as soon as not all fit into the memory that is allowed, so that several times as many stay there, and what
/// is left lies, packed too, in an unlinked temporary file, made when the first block has to go. Not
/// thread-safe: each rank of the analysis has its own.
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
  /// The number of items of a size in a block: a power of two.
  [[nodiscard]] std::size_t items_in_block(std::size_t item_bytes) const {
    return std::bit_floor(options_.block / item_bytes);
  }

  /// A new block, for items of this size; what is in it is undefined.
  Block allocate(std::size_t item_bytes);
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
  /// The block is not needed soon. Where there is a copy of what it is, its memory is given to the block that
  /// is loaded next, while it is in the processor's cache: who goes through more than fits would have every
  /// block go to memory that was not used for long.
  void leave(Block block) {
    State& state = states_[block];
    if (state.memory == nullptr || state.changed || state.copy == Copy::none) return;
    frames_[state.frame].owner = kNone;
    free_frames_.push_back(state.frame);
    state.memory = nullptr;
  }

  /// Bytes that went to the file so far, and its size.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return std::uint64_t{file_units_} * unit_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// As owner of a frame: it is divided into slots for packed blocks.
  static constexpr Block kSlots = kNone - 1;
  /// What packed blocks take in the file is measured in such parts of a block; and in memory, this many at
  /// most share a frame.
  static constexpr std::uint32_t kUnits = 16;
  /// One frame in this many holds a block as it is at least, however many are packed: those that are being
  /// added to, and those that are being read.
  static constexpr std::size_t kUnpacked = 4;

  /// What there is of a block beside its frame: what it was when it was put away.
  enum class Copy : std::uint8_t { none, memory, file };
  struct State {
    std::byte* memory = nullptr;  // in a frame; null: there is a copy only
    std::uint32_t frame = kNone;
    std::uint32_t place = 0;   // of the copy: frame and slot in it, or unit of the file
    std::uint8_t units = 0;    // of the copy in the file; kUnits: as it is, not packed
    std::uint8_t columns = 0;  // of four bytes in an item; 0: cannot be packed
    Copy copy = Copy::none;
    bool used = false, changed = false;
  };
  struct Frame {
    std::byte* memory = nullptr;
    Block owner = kNone;
    // Of one with slots:
    std::uint32_t slots = 0, free = 0;             // how many, and which are free, by bits
    std::uint32_t previous = kNone, next = kNone;  // among those with as many slots that have a free one
  };
  struct Free {
    void operator()(std::byte* memory) const;
  };
  /// Frames are taken from the system this many bytes at a time: its large pages, of which one costs hardly
  /// more than a small one.
  static constexpr std::size_t kChunk = std::size_t{2} << 20;

  void load(Block block);
  void take_frame(Block owner);
  std::uint32_t free_frame();
  std::uint32_t next_to_go();
  bool put_away(Block block);
  std::size_t pack(const State& state);
  bool find_slot(State& state, std::size_t bytes);
  [[nodiscard]] std::span<std::byte> slot(std::uint32_t place) const;
  void drop_copy(State& state);
  void link(std::uint32_t frame);
  void unlink(std::uint32_t frame);
  void put_into_file(State& state, std::uint32_t units, const std::byte* data);
  void read_file(const State& state, std::byte* data) const;
  void add_frame();
  void open_file();
  [[noreturn]] void fail(const char* what, int error) const;

  SpillOptions options_;
  std::size_t unit_ = 1;
  std::size_t most_frames_ = 1, most_with_slots_ = 0;
  std::vector<State> states_;  // by block
  std::vector<Block> free_blocks_;
  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
  std::size_t frames_in_chunk_ = 1;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> free_frames_;
  std::uint32_t hand_ = 0;
  std::size_t with_slots_ = 0;
  std::array<std::uint32_t, kUnits + 1> with_free_slots_{};  // the first frame, by slots
  std::vector<std::byte> packed_;                            // on its way
  int file_ = -1;
  std::uint32_t file_units_ = 0;
  std::array<std::vector<std::uint32_t>, kUnits + 1> free_in_file_;  // places, by units
  std::uint64_t written_ = 0;
};

}  // namespace culprit::storage
