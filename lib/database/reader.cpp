#include "database/reader.hpp"

#include "database/consistency.hpp"
#include "database/mapped_file.hpp"
#include "database/section_table.hpp"
#include "database/sections.hpp"
#include "database/tile_values.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

using format::Section;

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
  TileValues values;

  void load(ByteSpan bytes);
};

void Reader::Mapped::load(ByteSpan bytes) {
  const CheckedSections sections = find_sections(bytes, path);
  try {
    SectionSpans spans;
    for (std::size_t i = 0; i < spans.size(); ++i) spans[i] = sections[i].all();
    experiment = decode_experiment(spans);
    check_consistency(experiment);
    values = TileValues(spans[slot(Section::tile_index)], bytes, experiment.contexts.size(),
                        experiment.metrics.size(), path);
    if (values.locations() != experiment.locations.size()) throw Malformed("the tiles hold other locations");
  } catch (const Malformed& error) {
    throw DatabaseError(path, error.what());
  } catch (const Inconsistent& error) {
    throw DatabaseError(path, std::string(error.what()) + " (merge again)");
  }
}

Reader::Reader(const std::filesystem::path& path)
    : mapped_(new Mapped{.path = path, .file = MappedFile(path), .experiment = {}, .values = {}}) {
  mapped_->load(mapped_->file.bytes());
}

Reader::Reader(std::span<const std::byte> bytes, const std::filesystem::path& name)
    : mapped_(new Mapped{.path = name, .file = {}, .experiment = {}, .values = {}}) {
  mapped_->load(bytes);
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

const Experiment& Reader::experiment() const {
  return mapped_->experiment;
}

std::vector<Value> Reader::profile_values(std::uint32_t location) const {
  return mapped_->values.profile(location);
}

std::vector<std::uint64_t> Reader::context_values(ContextId context, std::uint32_t metric) const {
  if (context >= mapped_->experiment.contexts.size() || metric >= mapped_->experiment.metrics.size()) {
    throw std::out_of_range("a context or metric that does not exist");
  }
  std::vector<std::uint64_t> sums(mapped_->values.locations());
  mapped_->values.add_inclusive(context, mapped_->experiment.contexts[context].end, metric, sums);
  return sums;
}

std::vector<std::uint64_t> Reader::exclusive_values(std::span<const ContextId> contexts,
                                                    std::uint32_t metric) const {
  if (metric >= mapped_->experiment.metrics.size()) throw std::out_of_range("a metric that does not exist");
  std::vector<std::uint64_t> sums(mapped_->values.locations());
  mapped_->values.add_exclusive(contexts, metric, sums);
  return sums;
}

void Reader::verify_values() const {
  mapped_->values.verify();
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
