#include "database/reader.hpp"

#include "database/consistency.hpp"
#include "database/mapped_file.hpp"
#include "database/section_table.hpp"
#include "database/value_block.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

using format::Section;

/// One section of value lists: an index and the blocks it points into.
struct Lists {
  ByteSpan index, blocks;

  [[nodiscard]] std::size_t size() const { return index.size() / format::kBlockIndexSize; }
};

struct BlockEntry {
  std::uint64_t offset = 0;
  std::uint32_t size = 0, count = 0;
  std::uint64_t sum = 0;
};

BlockEntry entry_at(const Lists& lists, std::size_t list) {
  Decoder from(lists.index.subspan(list * format::kBlockIndexSize, format::kBlockIndexSize),
               "an index of values");
  BlockEntry entry;
  entry.offset = from.get<std::uint64_t>();
  entry.size = from.get<std::uint32_t>();
  entry.count = from.get<std::uint32_t>();
  entry.sum = from.get<std::uint64_t>();
  return entry;
}

/// Blocks lie one after the other without gaps, and there are as many as there should be.
void check_lists(const Lists& lists, std::size_t expected) {
  if (lists.size() != expected) throw Malformed("an index of values has the wrong length");
  std::uint64_t end = 0;
  for (std::size_t list = 0; list < lists.size(); ++list) {
    const BlockEntry entry = entry_at(lists, list);
    if (entry.offset != end) throw Malformed("an index of values has a gap or an overlap");
    end += entry.size;
  }
  if (end != lists.blocks.size()) throw Malformed("an index of values does not cover its blocks");
}

std::vector<Value> values_of(const Lists& lists, std::size_t list, const ValueBounds& bounds) {
  const BlockEntry entry = entry_at(lists, list);
  const ByteSpan block = lists.blocks.subspan(entry.offset, entry.size);
  if (checksum(block) != entry.sum) throw Malformed("a block of values does not match its checksum");
  return decode_values(block, entry.count, bounds);
}

const SummaryEntry* find_summary(const std::vector<Summary>& summaries, std::uint32_t role,
                                 std::uint32_t metric, std::uint32_t scope) {
  const auto key = [](const Summary& s) { return std::pair(s.role, s.metric); };
  const auto table = std::ranges::lower_bound(summaries, std::pair(role, metric), {}, key);
  if (table == summaries.end() || key(*table) != std::pair(role, metric)) return nullptr;
  const auto entry = std::ranges::lower_bound(table->entries, scope, {}, &SummaryEntry::scope);
  return entry == table->entries.end() || entry->scope != scope ? nullptr : &*entry;
}

}  // namespace

struct Reader::Mapped {
  std::filesystem::path path;
  MappedFile file;
  Experiment experiment;
  Lists profiles, contexts;

  void load(ByteSpan bytes);
  std::vector<Value> decode(const Lists& lists, std::size_t list, std::size_t indices) const;
};

void Reader::Mapped::load(ByteSpan bytes) {
  try {
    const SectionSpans sections = find_sections(bytes);
    experiment = decode_experiment(sections);
    check_consistency(experiment);
    profiles = {sections[slot(Section::profile_index)], sections[slot(Section::profile_blocks)]};
    contexts = {sections[slot(Section::context_index)], sections[slot(Section::context_blocks)]};
    check_lists(profiles, experiment.locations.size());
    check_lists(contexts, experiment.contexts.size());
  } catch (const Malformed& error) {
    throw DatabaseError(path, error.what());
  } catch (const Inconsistent& error) {
    throw DatabaseError(path, std::string(error.what()) + " (merge again)");
  }
}

std::vector<Value> Reader::Mapped::decode(const Lists& lists, std::size_t list, std::size_t indices) const {
  if (list >= lists.size()) throw std::out_of_range("a list of values that does not exist");
  try {
    return values_of(lists, list, {indices, experiment.metrics.size()});
  } catch (const Malformed& error) {
    throw DatabaseError(path, std::string(error.what()) + " (merge again)");
  }
}

Reader::Reader(const std::filesystem::path& path)
    : mapped_(new Mapped{
          .path = path, .file = MappedFile(path), .experiment = {}, .profiles = {}, .contexts = {}}) {
  mapped_->load(mapped_->file.bytes());
}

Reader::Reader(std::span<const std::byte> bytes, const std::filesystem::path& name)
    : mapped_(new Mapped{.path = name, .file = {}, .experiment = {}, .profiles = {}, .contexts = {}}) {
  mapped_->load(bytes);
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

const Experiment& Reader::experiment() const {
  return mapped_->experiment;
}

std::vector<Value> Reader::profile_values(std::uint32_t location) const {
  return mapped_->decode(mapped_->profiles, location, mapped_->experiment.contexts.size());
}

std::vector<Value> Reader::context_values(ContextId context) const {
  return mapped_->decode(mapped_->contexts, context, mapped_->experiment.locations.size());
}

std::vector<std::uint64_t> Reader::context_values(ContextId context, std::uint32_t metric) const {
  std::vector<std::uint64_t> dense(mapped_->experiment.locations.size());
  for (const Value& value : context_values(context)) {
    if (value.metric == metric) dense[value.index] = value.value;
  }
  return dense;
}

const SummaryEntry* Reader::context_summary(std::uint32_t role, std::uint32_t metric,
                                            ContextId context) const {
  return find_summary(mapped_->experiment.context_summaries, role, metric, context);
}

const SummaryEntry* Reader::flat_summary(std::uint32_t role, std::uint32_t metric, FlatId scope) const {
  return find_summary(mapped_->experiment.flat_summaries, role, metric, scope);
}

const std::string* Reader::source(StringId path) const {
  const auto& sources = mapped_->experiment.sources;
  const auto found = std::ranges::lower_bound(sources, path, {}, &SourceFile::path);
  return found == sources.end() || found->path != path ? nullptr : &found->text;
}

std::optional<std::uint32_t> Reader::metric(std::string_view name) const {
  const auto& metrics = mapped_->experiment.metrics;
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - metrics.begin());
}

const std::string& Reader::string(StringId id) const {
  return mapped_->experiment.strings.at(id);
}

}  // namespace culprit::database
