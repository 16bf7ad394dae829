#pragma once

#include "measurement/arena.hpp"
#include "measurement/live_layout.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace culprit::measurement {

/// The load modules of a process, in an arena of the live file. find_or_add runs in the handlers of any
/// number of threads at once and is lock-free; the rest belongs to the flusher thread.
class ModuleTable {
 public:
  int create(BlockFile& file) noexcept;

  /// The module's number; cct::kNoModule when the table or its arena is full.
  std::uint32_t find_or_add(std::uint64_t load_address, const char* path, const void* build_id,
                            std::size_t build_id_size, unsigned flags) noexcept;

  /// Count a sample against a module, from any number of handlers at once; nothing where there is no such
  /// module.
  void count_bridged(std::uint32_t module) noexcept;
  void count_partial(std::uint32_t module) noexcept;

  /// Grows the arena ahead of use. Returns 0 or an errno.
  int maintain(BlockFile& file) noexcept;

  /// Fills in size and modification time of modules that are new since the last call.
  void stat_new() noexcept;

  void release() noexcept;

  [[nodiscard]] std::uint32_t size() const noexcept;
  [[nodiscard]] const layout::ModuleRecord& record(std::uint32_t module) const noexcept;
  [[nodiscard]] const char* path(std::uint32_t module) const noexcept;
  /// What its counters counted.
  [[nodiscard]] layout::ModuleCounters counters(std::uint32_t module) const noexcept;
  [[nodiscard]] const std::byte* build_id(std::uint32_t module) const noexcept;

 private:
  static constexpr std::uint32_t kHashSlots = 2 * kMaxModules;

  struct Candidate;

  [[nodiscard]] std::uint32_t* slots() const noexcept { return arena_.at<std::uint32_t>(layout::kSlotUnit); }
  [[nodiscard]] bool same(NodeIndex unit, const Candidate& candidate) const noexcept;
  [[nodiscard]] layout::ModuleCounters* counters_of(std::uint32_t module) const noexcept;
  NodeIndex allocate(std::uint32_t units) noexcept;
  NodeIndex write(const Candidate& candidate) noexcept;
  std::uint32_t add(const Candidate& candidate) noexcept;

  Arena arena_;
  std::atomic<std::uint32_t> used_{0};
  std::atomic<std::uint32_t> stated_{0};  // modules before this one were looked at by stat_new
  // Load address → module number + 1, open addressing; entries are never removed.
  std::atomic<std::uint32_t> hash_[kHashSlots] = {};
};

}  // namespace culprit::measurement
