#include "database/sections.hpp"

#include <algorithm>

namespace culprit::database {

namespace {

/// All rows have them, or (read from a file of an older writer) none.
bool have_contexts(const TraceAnalyses& analyses) {
  return std::ranges::any_of(analyses.variations, [](const Variation& variation) {
    return std::ranges::any_of(variation.rows, [](const auto& row) { return !row.contexts.empty(); });
  });
}

}  // namespace

Bytes encode_segment_metrics(const TraceAnalyses& analyses) {
  Encoder into;
  if (analyses.metrics.empty()) return into.take();
  into.put(static_cast<std::uint32_t>(analyses.metrics.size()));
  for (const std::uint32_t metric : analyses.metrics) into.put(metric);
  for (const Variation& variation : analyses.variations) {
    for (const Variation::Row& row : variation.rows) {
      for (const std::vector<std::uint64_t>& values : row.values) {
        for (const std::uint64_t value : values) into.put_varint(value);
      }
    }
  }
  if (have_contexts(analyses)) {
    for (const Variation& variation : analyses.variations) {
      for (const Variation::Row& row : variation.rows) {
        for (const std::vector<std::uint32_t>& contexts : row.contexts) put_runs(contexts, into);
      }
    }
  }
  return into.take();
}

void decode_segment_metrics(ByteSpan bytes, TraceAnalyses& analyses) {
  if (bytes.empty()) return;
  Decoder from(bytes, "the section on metrics over time");
  analyses.metrics.resize(from.get_count(4));
  for (std::uint32_t& metric : analyses.metrics) metric = from.get<std::uint32_t>();
  for (Variation& variation : analyses.variations) {
    for (Variation::Row& row : variation.rows) {
      const std::size_t segments = row.sos_ns.size();
      for (std::size_t metric = 0; segments > 0 && metric < analyses.metrics.size(); ++metric) {
        if (from.remaining() < segments) from.fail("lacks values");
        std::vector<std::uint64_t>& values = row.values.emplace_back(segments);
        for (std::uint64_t& value : values) value = from.get_varint();
      }
    }
  }
  if (from.remaining() == 0) return;  // of an older writer
  for (Variation& variation : analyses.variations) {
    for (Variation::Row& row : variation.rows) {
      for (std::size_t metric = 0; metric < row.values.size(); ++metric)
        row.contexts.push_back(get_runs(row.sos_ns.size(), from));
    }
  }
}

}  // namespace culprit::database
