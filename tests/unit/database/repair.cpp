#include "repair.hpp"

#include "database/encoding.hpp"
#include "database/format.hpp"
#include "database/reader.hpp"

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
      if (number == 0 || number > format::kSections) continue;
      sections_[number - 1] = {get<std::uint64_t>(entry + 8), get<std::uint64_t>(entry + 16)};
    }
    repair_parts(Section::context_summary_index, Section::context_summary_data, 8, 24);
    repair_parts(Section::flat_summary_index, Section::flat_summary_data, 8, 24);
    repair_parts(Section::source_index, Section::source_data, 16, 32);
    repair_blocks(Section::profile_index, Section::profile_blocks);
    repair_blocks(Section::context_index, Section::context_blocks);
    for (std::uint64_t i = 0; i < count && i < format::kMaxSections; ++i) {
      const std::uint64_t entry = table + i * format::kTableEntrySize;
      const auto number = get<std::uint32_t>(entry);
      if (number == 0 || number > format::kSections || format::self_checked(static_cast<Section>(number)))
        continue;
      put_checksum(entry + 24, {get<std::uint64_t>(entry + 8), get<std::uint64_t>(entry + 16)});
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

  [[nodiscard]] const Part& section(Section s) const { return sections_[static_cast<std::size_t>(s) - 1]; }

  /// The checksums in an index whose entries hold offset and size (u64) at `offset_at` and the checksum at
  /// `sum_at`.
  void repair_parts(Section index, Section data, std::uint64_t offset_at, std::uint64_t sum_at) {
    const Part& entries = section(index);
    if (!inside(entries)) return;
    const std::uint64_t stride = format::stride(index);
    for (std::uint64_t at = 0; at + stride <= entries.size; at += stride) {
      const std::uint64_t entry = entries.offset + at;
      const auto offset = get<std::uint64_t>(entry + offset_at);
      put_checksum(entry + sum_at,
                   {section(data).offset + offset, get<std::uint64_t>(entry + offset_at + 8)});
    }
  }

  void repair_blocks(Section index, Section blocks) {
    const Part& entries = section(index);
    if (!inside(entries)) return;
    for (std::uint64_t at = 0; at + format::kBlockIndexSize <= entries.size; at += format::kBlockIndexSize) {
      const std::uint64_t entry = entries.offset + at;
      put_checksum(entry + 16,
                   {section(blocks).offset + get<std::uint64_t>(entry), get<std::uint32_t>(entry + 8)});
    }
  }

  std::vector<std::byte>& file_;
  Part sections_[format::kSections];
};

}  // namespace

void repair_checksums(std::vector<std::byte>& file) {
  Repair(file).run();
}

bool read_all(std::span<const std::byte> file) {
  try {
    const Reader reader(file, "damaged.db");
    const Experiment& e = reader.experiment();
    for (std::uint32_t l = 0; l < e.locations.size(); ++l) (void)reader.profile_values(l);
    for (ContextId x = 0; x < e.contexts.size(); ++x) {
      (void)reader.context_values(x);
      (void)reader.context_values(x, 0);
      (void)reader.context_summary(0, 0, x);
    }
    for (const SourceFile& source : e.sources) (void)reader.source(source.path);
  } catch (const DatabaseError&) {
    return false;
  }
  return true;
}

}  // namespace culprit::database
