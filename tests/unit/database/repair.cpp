#include "repair.hpp"

#include "database/encoding.hpp"
#include "database/format.hpp"
#include "database/reader.hpp"
#include "image.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace culprit::database {
namespace {

using format::Section;

/// A part of the file that its tables point to.
struct Part {
  std::uint64_t offset = 0, size = 0;
};

class Repair {
 public:
  explicit Repair(std::vector<std::byte>& file) : file_(file) {}

  void run() {
    if (file_.size() < format::kHeaderSize) return;
    const auto count = get<std::uint32_t>(12);
    const auto table = get<std::uint64_t>(24);
    for (std::uint64_t i = 0; i < count && i < format::kMaxSections; ++i) {
      const std::uint64_t entry = table + i * format::kTableEntrySize;
      if (!inside({entry, format::kTableEntrySize})) return;
      const auto number = get<std::uint32_t>(entry);
      if (number == 0 || number > format::kLastSection) continue;
      sections_[number - 1] = {get<std::uint64_t>(entry + 8), get<std::uint64_t>(entry + 16)};
    }
    repair_tiles();
    for (std::uint64_t i = 0; i < count && i < format::kMaxSections; ++i) {
      const std::uint64_t entry = table + i * format::kTableEntrySize;
      repair_part({get<std::uint64_t>(entry + 8), get<std::uint64_t>(entry + 16)}, entry + 24);
    }
    put_checksum(32, {table, count * format::kTableEntrySize});
    put_checksum(format::kHeaderHashed, {0, format::kHeaderHashed});
  }

 private:
  [[nodiscard]] bool inside(const Part& part) const {
    return part.offset <= file_.size() && part.size <= file_.size() - part.offset;
  }

  template <class T>
  [[nodiscard]] T get(std::uint64_t at) const {
    T value{};
    std::memcpy(&value, file_.data() + at, sizeof value);
    return value;
  }

  void put_checksum(std::uint64_t at, const Part& part) {
    if (!inside(part)) return;
    const std::uint64_t sum = checksum(ByteSpan(file_).subspan(part.offset, part.size));
    std::memcpy(file_.data() + at, &sum, sizeof sum);
  }

  /// The checksums behind a part, and theirs at `sum_at`.
  void repair_part(const Part& part, std::uint64_t sum_at) {
    if (!inside(part)) return;
    const std::uint64_t sums = part.offset + (part.size + 7) / 8 * 8;
    const std::uint64_t chunks = (part.size + format::kChunk - 1) / format::kChunk;
    if (!inside({sums, chunks * 8}) || !inside({sum_at, 8})) return;
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::uint64_t begin = chunk * format::kChunk;
      put_checksum(sums + chunk * 8, {part.offset + begin, std::min(format::kChunk, part.size - begin)});
    }
    put_checksum(sum_at, {sums, chunks * 8});
  }

  void repair_tiles() {
    const Part& index = sections_[static_cast<std::size_t>(Section::tile_index) - 1];
    if (!inside(index)) return;
    for (std::uint64_t at = 0; at + format::kTileIndexSize <= index.size; at += format::kTileIndexSize) {
      const std::uint64_t entry = index.offset + at;
      repair_part({get<std::uint64_t>(entry), get<std::uint64_t>(entry + 8)}, entry + 16);
    }
  }

  std::vector<std::byte>& file_;
  Part sections_[format::kLastSection];
};

}  // namespace

void repair_checksums(std::vector<std::byte>& file) {
  Repair(file).run();
}

bool read_all(std::span<const std::byte> file) {
  try {
    const Reader reader(file, "damaged.db");
    const Contents& e = reader.experiment();
    (void)collect(e);
    for (std::uint32_t l = 0; l < e.locations.size(); ++l) (void)reader.profile_values(l);
    for (ContextId x = 0; x < e.contexts.size(); ++x) {
      (void)reader.inclusive_values({&x, 1}, 0);
      (void)reader.exclusive_values({&x, 1}, 0);
      (void)e.procedures.of_context(x);
      (void)e.blame.between(0, x, e.contexts[x].end);
    }
    for (FlatId f = 0; f < e.flat.size(); ++f) {
      (void)e.flat_instances[f];
      (void)e.blame.of_flat(0, f, true);
      (void)reader.flat_exclusive_values(f, 0);
    }
    for (std::uint32_t p = 0; p < e.procedures.size(); ++p) {
      (void)e.procedures[p];
      (void)e.procedures.instances()[p];
    }
  } catch (const DatabaseError&) {
    return false;
  }
  return true;
}

}  // namespace culprit::database
