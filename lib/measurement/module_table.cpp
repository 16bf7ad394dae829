// The load modules of a process, which handlers of any number of threads add without locks. A record is
// written where nobody looks, then a compare-and-swap puts it into the first free slot; a hash table of
// slots, with open addressing, spares going through all of them. If two threads add a module at once, one
// finds it in the slots, and its own record stays unused.
#include "measurement/module_table.hpp"

#include "measurement/record_checksums.hpp"

#include <cstring>

#include <sys/stat.h>

namespace culprit::measurement {

using layout::ModuleRecord;

namespace {

constexpr std::uint64_t kReservation = std::uint64_t{8} << 20;
constexpr std::uint64_t kFirstModuleBlock = 2 * layout::kGranule;
constexpr std::uint64_t kNextBlock = 2 * layout::kGranule;
constexpr std::uint32_t kLowUnits = layout::kGranuleUnits;  // growth starts when fewer are free

std::uint32_t hash(std::uint64_t load_address) noexcept {
  return static_cast<std::uint32_t>((load_address * 0x9e3779b97f4a7c15u) >> 32);
}

}  // namespace

struct ModuleTable::Candidate {
  std::uint64_t load_address;
  const char* path;
  std::size_t path_size;
  const void* build_id;
  std::size_t build_id_size;
  unsigned flags;
};

int ModuleTable::create(BlockFile& file) noexcept {
  if (const int error = arena_.reserve(kReservation, kFirstModuleBlock); error != 0) return error;
  const auto type = static_cast<std::uint32_t>(layout::BlockType::modules);
  if (const int error = arena_.grow(file, type, 0, kFirstModuleBlock); error != 0) {
    arena_.release();
    return error;
  }
  used_.store(layout::kFirstModuleUnit, std::memory_order_relaxed);
  stated_.store(0, std::memory_order_relaxed);
  for (auto& entry : hash_) entry.store(0, std::memory_order_relaxed);
  return 0;
}

bool ModuleTable::same(NodeIndex unit, const Candidate& candidate) const noexcept {
  const auto* record = arena_.at<const ModuleRecord>(unit);
  if (record->load_address != candidate.load_address || record->path_size != candidate.path_size ||
      record->build_id_size != candidate.build_id_size) {
    return false;
  }
  const auto* text = reinterpret_cast<const std::byte*>(record + 1);
  return std::memcmp(text + record->build_id_size, candidate.path, candidate.path_size) == 0 &&
         (record->build_id_size == 0 || std::memcmp(text, candidate.build_id, record->build_id_size) == 0);
}

std::uint32_t ModuleTable::find_or_add(std::uint64_t load_address, const char* path, const void* build_id,
                                       std::size_t build_id_size, unsigned flags) noexcept {
  if (path == nullptr) path = "";
  if (build_id == nullptr) build_id_size = 0;
  const Candidate candidate{
      .load_address = load_address,
      .path = path,
      .path_size = strnlen(path, layout::kMaxPath - 1),
      .build_id = build_id,
      .build_id_size = build_id_size < layout::kMaxBuildId ? build_id_size : layout::kMaxBuildId,
      .flags = flags};
  for (std::uint32_t at = hash(load_address) % kHashSlots;; at = (at + 1) % kHashSlots) {
    const std::uint32_t entry = hash_[at].load(std::memory_order_acquire);
    if (entry == 0) return add(candidate);
    const std::uint32_t slot = std::atomic_ref(slots()[entry - 1]).load(std::memory_order_relaxed);
    if (same(slot, candidate)) return entry - 1;
  }
}

NodeIndex ModuleTable::allocate(std::uint32_t units) noexcept {
  std::uint32_t next = used_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t at = Arena::place(next, units);
    if (at + units > arena_.limit()) return kNoNodeIndex;
    if (used_.compare_exchange_weak(next, at + units, std::memory_order_relaxed)) return at;
  }
}

NodeIndex ModuleTable::write(const Candidate& candidate) noexcept {
  const std::size_t bytes = sizeof(ModuleRecord) + candidate.build_id_size + candidate.path_size;
  const NodeIndex at = allocate(static_cast<std::uint32_t>((bytes + layout::kUnit - 1) / layout::kUnit));
  if (at == kNoNodeIndex) return kNoNodeIndex;
  auto* record = arena_.at<ModuleRecord>(at);
  record->load_address = candidate.load_address;
  record->flags = candidate.flags;
  record->counters = allocate(1);
  record->path_size = static_cast<std::uint16_t>(candidate.path_size);
  record->build_id_size = static_cast<std::uint16_t>(candidate.build_id_size);
  auto* text = reinterpret_cast<std::byte*>(record + 1);
  if (candidate.build_id_size > 0) std::memcpy(text, candidate.build_id, candidate.build_id_size);
  std::memcpy(text + candidate.build_id_size, candidate.path, candidate.path_size);
  record->checksum = layout::module_checksum(*record, text);
  return at;
}

// The slots are the truth: they are searched again here, since another thread may have added the module after
// the look into the hash table.
std::uint32_t ModuleTable::add(const Candidate& candidate) noexcept {
  NodeIndex record = kNoNodeIndex;
  for (std::uint32_t i = 0; i < kMaxModules; ++i) {
    std::atomic_ref slot(slots()[i]);
    std::uint32_t there = slot.load(std::memory_order_acquire);
    if (there == 0) {
      if (record == kNoNodeIndex) record = write(candidate);
      if (record == kNoNodeIndex) return cct::kNoModule;
      if (slot.compare_exchange_strong(there, record, std::memory_order_acq_rel)) {
        for (std::uint32_t at = hash(candidate.load_address) % kHashSlots;; at = (at + 1) % kHashSlots) {
          std::uint32_t empty = 0;
          if (hash_[at].compare_exchange_strong(empty, i + 1, std::memory_order_acq_rel)) return i;
        }
      }
    }
    if (same(there, candidate)) return i;
  }
  return cct::kNoModule;
}

// Null: no such module, or the arena had no room for its counters.
layout::ModuleCounters* ModuleTable::counters_of(std::uint32_t module) const noexcept {
  if (module >= kMaxModules) return nullptr;
  const std::uint32_t slot = std::atomic_ref(slots()[module]).load(std::memory_order_acquire);
  if (slot == kNoNodeIndex) return nullptr;
  const std::uint32_t counters = arena_.at<ModuleRecord>(slot)->counters;
  return counters == kNoNodeIndex ? nullptr : arena_.at<layout::ModuleCounters>(counters);
}

void ModuleTable::count_bridged(std::uint32_t module) noexcept {
  if (layout::ModuleCounters* counters = counters_of(module))
    std::atomic_ref(counters->bridged).fetch_add(layout::kCountStep, std::memory_order_relaxed);
}

void ModuleTable::count_partial(std::uint32_t module) noexcept {
  if (layout::ModuleCounters* counters = counters_of(module))
    std::atomic_ref(counters->partial).fetch_add(layout::kCountStep, std::memory_order_relaxed);
}

layout::ModuleCounters ModuleTable::counters(std::uint32_t module) const noexcept {
  layout::ModuleCounters copy{};
  if (layout::ModuleCounters* counters = counters_of(module)) {
    const auto count = [](std::uint64_t& word) {
      return layout::checked_count(std::atomic_ref(word).load(std::memory_order_relaxed)).value_or(0);
    };
    copy.bridged = count(counters->bridged);
    copy.partial = count(counters->partial);
  }
  return copy;
}

int ModuleTable::maintain(BlockFile& file) noexcept {
  if (used_.load(std::memory_order_relaxed) + kLowUnits < arena_.limit() || arena_.exhausted()) return 0;
  const int error = arena_.grow(file, static_cast<std::uint32_t>(layout::BlockType::modules), 0, kNextBlock);
  return arena_.exhausted() ? 0 : error;
}

void ModuleTable::stat_new() noexcept {
  char name[layout::kMaxPath];
  const std::uint32_t count = size();
  for (std::uint32_t i = stated_.load(std::memory_order_relaxed); i < count; ++i) {
    auto* record = arena_.at<ModuleRecord>(slots()[i]);
    std::memcpy(name, path(i), record->path_size);
    name[record->path_size] = '\0';
    struct stat info {};
    constexpr std::uint32_t no_file = layout::kModuleVdso | layout::kModuleRegion;
    if ((record->flags & no_file) == 0 && name[0] == '/' && ::stat(name, &info) == 0) {
      record->size = static_cast<std::uint64_t>(info.st_size);
      record->mtime_ns = info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec;
    }
    std::atomic_ref(record->stated).store(layout::stat_checksum(*record), std::memory_order_release);
  }
  stated_.store(count, std::memory_order_relaxed);
}

void ModuleTable::release() noexcept {
  arena_.release();
}

std::uint32_t ModuleTable::size() const noexcept {
  std::uint32_t count = stated_.load(std::memory_order_relaxed);
  while (count < kMaxModules && std::atomic_ref(slots()[count]).load(std::memory_order_acquire) != 0) ++count;
  return count;
}

const ModuleRecord& ModuleTable::record(std::uint32_t module) const noexcept {
  return *arena_.at<const ModuleRecord>(slots()[module]);
}

const std::byte* ModuleTable::build_id(std::uint32_t module) const noexcept {
  return reinterpret_cast<const std::byte*>(&record(module) + 1);
}

const char* ModuleTable::path(std::uint32_t module) const noexcept {
  return reinterpret_cast<const char*>(build_id(module) + record(module).build_id_size);
}

}  // namespace culprit::measurement
