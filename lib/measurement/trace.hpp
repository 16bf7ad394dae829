#pragma once

#include "measurement/input_file.hpp"
#include "measurement/kinds.hpp"
#include "measurement/measurement.hpp"
#include "measurement/trace_event.hpp"
#include "measurement/trace_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

// Reading the trace of a process, live or after any death. Trusts nothing: any bytes give valid records or
// a MeasurementError, and memory is bounded by the largest call.
namespace culprit::measurement::trace {

/// Where the trace of the process with this measurement file is, if it has one.
std::filesystem::path trace_path(const std::filesystem::path& measurement);

/// A trace's outline: what it holds but for the records, which ThreadRecords reads. Keeps the file open.
class ProcessTrace {
 public:
  /// Reads the outline; throws MeasurementError where the file is no trace, is damaged or cannot be read.
  explicit ProcessTrace(const std::filesystem::path& path);

  /// What one thread (or several that share a tree) recorded.
  struct Thread {
    std::uint32_t ordinal = 0;  ///< ThreadProfile::ordinal
    std::uint64_t bytes = 0;
    struct Block {
      std::uint32_t slot = 0;
      std::uint32_t sequence = 0;
      std::uint32_t used = 0;
      std::uint64_t base_ns = 0;
      std::uint64_t last_ns = 0;  ///< no record of the block is later
    };
    std::vector<Block> blocks;  ///< in their order
  };

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  /// In the order of their ordinals.
  [[nodiscard]] const std::vector<Thread>& threads() const { return threads_; }
  /// What contexts are indices into.
  [[nodiscard]] const std::vector<Definition>& definitions() const { return definitions_; }
  [[nodiscard]] const std::vector<ClockPair>& clocks() const { return clocks_; }

  /// Whether it is the trace of the process that this measurement is of.
  [[nodiscard]] bool is_of(const ProcessInfo& process) const;
  /// Of the process, as its measurement shows them too.
  [[nodiscard]] std::uint64_t pid() const { return header_.pid; }
  [[nodiscard]] std::uint64_t start_ns() const { return header_.start_ns; }
  [[nodiscard]] EndReason end() const;
  /// Whether a clean end completed the file.
  [[nodiscard]] bool sealed() const { return header_.index_entries != 0; }
  /// When recording stopped before the process ended; 0 where it did not. And why: the limit, or an errno.
  [[nodiscard]] std::uint64_t stopped_ns() const { return header_.stopped_ns; }
  [[nodiscard]] bool limit_reached() const { return (header_.flags & kLimitReached) != 0; }
  [[nodiscard]] int error() const { return static_cast<int>(header_.error); }
  [[nodiscard]] std::uint64_t limit() const { return header_.limit; }
  /// Samples and calls that found no room in the buffers.
  [[nodiscard]] std::uint64_t dropped() const { return header_.dropped; }
  /// Bytes of all records and definitions.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  friend class ThreadRecords;

  void read_header();
  void read_index();
  void scan_slots();
  void check_block(const BlockHeader& header) const;
  void add_block(std::uint32_t stream, const Thread::Block& block);
  void sort_blocks();
  void read_process();
  /// Reads a block's used bytes to `to`, which has room for kPayload, and checks them.
  void read_block(std::uint32_t stream, const Thread::Block& block, std::byte* to) const;

  InputWindow window_;  // of the outline
  InputFile file_;
  Header header_{};
  std::vector<Thread> threads_;
  std::unordered_map<std::uint32_t, std::size_t> positions_;  // by stream, while blocks are gathered
  Thread process_;
  std::vector<Definition> definitions_;
  std::vector<ClockPair> clocks_;
  std::uint64_t bytes_ = 0;
};

/// The records of one thread in their order, block by block. Several may read one trace at the same time,
/// each in a thread of its own. The trace must outlive it.
class ThreadRecords {
 public:
  /// `units` are ThreadProfile::units of the thread in the measurement: records then name nodes by their
  /// index there. Without them (empty) they have unit numbers. Records that ended before `from_ns` may be
  /// left out, by whole blocks.
  ThreadRecords(const ProcessTrace& trace, const ProcessTrace::Thread& thread,
                std::span<const std::uint32_t> units, std::uint64_t from_ns = 0);

  /// Reads the next record into `record`, whose memory it uses again. False at the end. Throws
  /// MeasurementError where the file is damaged.
  bool next(Record& record);

 private:
  bool next_block();
  void read_sample(unsigned lead, Record& record);
  void read_reading(unsigned lead, Record& record);
  void read_wait(unsigned lead, Record& record);
  void end_sample(std::uint64_t since, Record& record);
  std::uint64_t duration();
  void read_call(unsigned lead, Record& record);
  void read_operations(Operation& before, bool of_place, Record& record);
  bool read_operation(Operation& operation);
  bool continue_call();
  [[nodiscard]] std::uint32_t node_of(std::uint32_t unit);
  std::uint64_t varint();
  std::int64_t zigzag();
  std::uint32_t number();
  Context context();
  void check_end() const;
  [[noreturn]] void fail(const char* what) const;

  const ProcessTrace& trace_;
  const ProcessTrace::Thread& thread_;
  std::vector<std::uint32_t> nodes_;  // by unit
  std::size_t next_block_ = 0;
  std::unique_ptr<unsigned char[]> buffer_;
  const unsigned char* at_ = nullptr;
  const unsigned char* end_ = nullptr;
  std::uint64_t last_ns_ = 0;  // of the block
  BlockState state_;
};

}  // namespace culprit::measurement::trace
