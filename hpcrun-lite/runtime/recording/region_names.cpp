// The names of regions, once each: an array that only grows, and a hash table of numbers into it with open
// addressing. A name is complete before a compare-and-swap lets others find it. If two threads add one name
// at once, one of the two entries stays unused. Names that find no room share a single one.
#include "runtime/recording/region_names.hpp"

#include "runtime/state/process.hpp"

#include <atomic>
#include <cstring>

namespace culprit::runtime {
namespace {

struct Name {
  std::uint64_t hash;
  std::size_t size;
  char text[kRegionNameBytes + 1];
  std::atomic<std::uint32_t> module;  ///< its index + 1, 0 while it has none
};

constexpr std::uint32_t kSlots = 2 * kRegionNames;  // half empty: look-ups stay short

constinit Name names[kRegionNames] = {{.hash = 0, .size = 17, .text = "<further regions>", .module = 0}};
std::atomic<RegionName> used{kFurtherRegions + 1};
std::atomic<std::uint32_t> slots[kSlots];  // open addressing; the number of a name, 0 for none
std::atomic<bool> full{false};

std::size_t kept_size(const char* text) {
  std::size_t size = strnlen(text, kRegionNameBytes + 1);
  if (size <= kRegionNameBytes) return size;
  constexpr unsigned kContinues = 0x80, kContinuationMask = 0xc0;  // of UTF-8
  --size;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & kContinuationMask) == kContinues) --size;
  return size;
}

/// A name that nobody can find yet; kFurtherRegions where there is no room.
RegionName write(const char* text, std::size_t size, std::uint64_t hash) {
  RegionName name = used.load(std::memory_order_relaxed);
  do {
    if (name == kRegionNames) {
      full.store(true, std::memory_order_relaxed);
      return kFurtherRegions;
    }
  } while (!used.compare_exchange_weak(name, name + 1, std::memory_order_relaxed));
  memcpy(names[name].text, text, size);
  names[name].size = size;
  names[name].hash = hash;
  return name;
}

enum class Unknown : std::uint8_t { add, leave };

/// kFurtherRegions where there is no room, or, for a name that is unknown, `leave`.
RegionName find(const char* text, Unknown unknown) {
  if (text == nullptr || text[0] == '\0') text = "<region>";
  const std::size_t size = kept_size(text);
  const std::uint64_t hash = hash_of_name(text, size);
  RegionName fresh = kFurtherRegions;
  for (std::uint64_t at = hash % kSlots;; at = (at + 1) % kSlots) {
    std::uint32_t there = slots[at].load(std::memory_order_acquire);
    if (there == 0) {
      if (unknown == Unknown::leave) return kFurtherRegions;
      if (fresh == kFurtherRegions) fresh = write(text, size, hash);
      if (fresh == kFurtherRegions) return kFurtherRegions;
      if (slots[at].compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) return fresh;
    }
    // Another thread may have added the same name here just now; then ours stays unused.
    const Name& name = names[there];
    if (name.hash == hash && name.size == size && memcmp(name.text, text, size) == 0) return there;
  }
}

}  // namespace

RegionName region_name(const char* text) {
  return find(text, Unknown::add);
}

RegionName known_region_name(const char* text) {
  return find(text, Unknown::leave);
}

std::uint32_t region_module(RegionName name) {
  return module_of_name(names[name].module, names[name].hash, names[name].text);
}

// FNV-1a.
std::uint64_t hash_of_name(const char* text, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3U;
  return hash;
}

std::uint32_t module_of_name(std::atomic<std::uint32_t>& known, std::uint64_t hash, const char* text) {
  const std::uint32_t before = known.load(std::memory_order_relaxed);
  if (before != 0) return before - 1;
  const std::uint32_t module = file.module(hash, text, nullptr, 0, measurement::LiveFile::kModuleRegion);
  if (module != cct::kNoModule) known.store(module + 1, std::memory_order_relaxed);
  return module;
}

bool region_names_full() {
  return full.load(std::memory_order_relaxed);
}

void forget_region_modules() {
  const RegionName count = used.load(std::memory_order_relaxed);
  for (RegionName name = 0; name < count; ++name) names[name].module.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::runtime
