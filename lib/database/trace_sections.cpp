#include "database/sections.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace culprit::database {

namespace {

using format::Section;

constexpr std::uint32_t kBetween = 1;                                            // flag of a scope
constexpr std::uint32_t kMarked = 1, kChosen = 2, kDurations = 4, kStamped = 8;  // flags of a variation

/// The numbers of section 29 in their order; `Analyses` is const where they are written.
template <class Analyses>
auto counts_of(Analyses& a) {
  return std::array{&a.traced,
                    &a.stopped,
                    &a.unmatched.sends,
                    &a.unmatched.receives,
                    &a.unmatched.probes,
                    &a.unmatched.collectives,
                    &a.unmatched.fences,
                    &a.unmatched.epochs,
                    &a.unmatched.locks,
                    &a.unmatched.completions,
                    &a.unmatched.strangers,
                    &a.run_ns,
                    &a.unattributed_ns,
                    &a.direct_ns,
                    &a.indirect_ns,
                    &a.critical_begin_ns,
                    &a.critical_end_ns,
                    &a.critical_calls_ns};
}
template <class Analyses>
auto shares_of(Analyses& a) {
  return std::array{&a.parallel, &a.load_balance, &a.communication, &a.serialization, &a.transfer};
}

void put_scope(const TimedScope& scope, Encoder& into) {
  into.put(scope.context);
  into.put(scope.between ? kBetween : 0U);
}

TimedScope get_scope(Decoder& from) {
  TimedScope scope;
  scope.context = from.get<std::uint32_t>();
  const auto flags = from.get<std::uint32_t>();
  if (flags > kBetween) from.fail("has unknown flags");
  scope.between = (flags & kBetween) != 0;
  return scope;
}

Bytes encode_summary(const TraceAnalyses& a) {
  Encoder into;
  for (const std::uint64_t* count : counts_of(a)) into.put(*count);
  for (const double* share : shares_of(a)) into.put(*share);
  into.put(static_cast<std::uint32_t>(a.unmatched_ranks.size()));
  for (const std::int32_t rank : a.unmatched_ranks) into.put(rank);
  return into.take();
}

Bytes encode_causes(const std::vector<Cause>& causes) {
  Encoder into;
  for (const Cause& cause : causes) {
    into.put(cause.location);
    put_scope(cause.scope, into);
    into.put(cause.waits_in + 1);  // 0, as older writers have it, for none
    into.put(cause.short_term_ns);
    into.put(cause.long_term_ns);
  }
  return into.take();
}

Bytes encode_critical(const std::vector<CriticalScope>& critical) {
  Encoder into;
  into.put(static_cast<std::uint32_t>(critical.size()));
  for (const CriticalScope& one : critical) {
    put_scope(one.scope, into);
    into.put(one.imbalance_ns);
    into.put(static_cast<std::uint32_t>(one.shares.size()));
    for (const CriticalScope::Share& share : one.shares) {
      into.put(share.location);
      into.put_varint(share.ns);
    }
  }
  return into.take();
}

Bytes encode_hotspots(const std::vector<Hotspot>& hotspots) {
  Encoder into;
  for (const Hotspot& hotspot : hotspots) {
    into.put(hotspot.location);
    into.put(hotspot.context);
    into.put(hotspot.waiter);
    into.put(hotspot.waiter_context);
    into.put(hotspot.ns);
  }
  return into.take();
}

void put_variation(const Variation& variation, Encoder& into) {
  into.put((variation.marked ? kMarked : 0U) | (variation.chosen ? kChosen : 0U) |
           (variation.stamped ? kStamped : 0U) | (variation.longest_ns.empty() ? 0U : kDurations));
  into.put(variation.context);
  into.put(variation.median_ns);
  into.put(static_cast<std::uint32_t>(variation.rows.size()));
  for (const Variation::Row& row : variation.rows) {
    into.put(row.rank);
    into.put(static_cast<std::uint32_t>(row.sos_ns.size()));
    for (const std::uint64_t ns : row.sos_ns) into.put_varint(ns);
  }
  into.put(static_cast<std::uint32_t>(variation.outliers.size()));
  for (const Variation::Outlier& outlier : variation.outliers) {
    into.put(outlier.rank);
    into.put(outlier.segment);
    into.put(outlier.context);
    into.put(outlier.sos_ns);
  }
  if (variation.longest_ns.empty()) return;
  into.put(static_cast<std::uint32_t>(variation.longest_ns.size()));
  for (const std::uint64_t ns : variation.longest_ns) into.put_varint(ns);
}

/// All rows have them, or (read from a file of an older writer) none.
bool have_begins(const std::vector<Variation>& variations) {
  return std::ranges::any_of(variations, [](const Variation& variation) {
    return std::ranges::any_of(variation.rows, [](const auto& row) { return !row.begin_ns.empty(); });
  });
}

void put_begins(const Variation::Row& row, Encoder& into) {
  std::uint64_t before = 0;
  for (const std::uint64_t ns : row.begin_ns) into.put_varint(ns - std::exchange(before, ns));
}

void get_begins(Variation::Row& row, Decoder& from) {
  if (from.remaining() < row.sos_ns.size()) from.fail("lacks times of segments");
  row.begin_ns.resize(row.sos_ns.size());
  std::uint64_t before = 0;
  for (std::uint64_t& ns : row.begin_ns) ns = before += from.get_varint();
}

Bytes encode_variations(const std::vector<Variation>& variations) {
  Encoder into;
  into.put(static_cast<std::uint32_t>(variations.size()));
  for (const Variation& variation : variations) put_variation(variation, into);
  if (have_begins(variations)) {
    for (const Variation& variation : variations) {
      for (const Variation::Row& row : variation.rows) put_begins(row, into);
    }
    for (const Variation& variation : variations) {
      for (const Variation::Outlier& outlier : variation.outliers) into.put(outlier.location);
    }
  }
  return into.take();
}

void decode_summary(ByteSpan bytes, TraceAnalyses& a) {
  if (bytes.empty()) return;
  Decoder from(bytes, "the section on traces");
  for (std::uint64_t* count : counts_of(a)) *count = from.get<std::uint64_t>();
  for (double* share : shares_of(a)) *share = from.get<double>();
  if (from.at_end()) return;  // of an older writer
  a.unmatched_ranks.resize(from.get_count(sizeof(std::int32_t)));
  for (std::int32_t& rank : a.unmatched_ranks) rank = from.get<std::int32_t>();
}

std::vector<Cause> decode_causes(ByteSpan bytes) {
  Decoder from(bytes, "the section on causes");
  std::vector<Cause> causes(bytes.size() / format::kCauseSize);
  for (Cause& cause : causes) {
    cause.location = from.get<std::uint32_t>();
    cause.scope = get_scope(from);
    cause.waits_in = from.get<std::uint32_t>() - 1;
    cause.short_term_ns = from.get<std::uint64_t>();
    cause.long_term_ns = from.get<std::uint64_t>();
  }
  return causes;
}

std::vector<CriticalScope> decode_critical(ByteSpan bytes) {
  if (bytes.empty()) return {};
  Decoder from(bytes, "the section on the critical path");
  std::vector<CriticalScope> critical(from.get_count(20));
  for (CriticalScope& one : critical) {
    one.scope = get_scope(from);
    one.imbalance_ns = from.get<std::uint64_t>();
    one.shares.resize(from.get_count(5));
    for (CriticalScope::Share& share : one.shares) {
      share.location = from.get<std::uint32_t>();
      share.ns = from.get_varint();
      one.ns += share.ns;
    }
  }
  return critical;
}

std::vector<Hotspot> decode_hotspots(ByteSpan bytes) {
  Decoder from(bytes, "the section on hotspots");
  std::vector<Hotspot> hotspots(bytes.size() / format::kHotspotSize);
  for (Hotspot& hotspot : hotspots) {
    hotspot.location = from.get<std::uint32_t>();
    hotspot.context = from.get<std::uint32_t>();
    hotspot.waiter = from.get<std::uint32_t>();
    hotspot.waiter_context = from.get<std::uint32_t>();
    hotspot.ns = from.get<std::uint64_t>();
  }
  return hotspots;
}

Variation get_variation(Decoder& from) {
  Variation variation;
  const auto flags = from.get<std::uint32_t>();
  if ((flags & ~(kMarked | kChosen | kDurations | kStamped)) != 0) from.fail("has unknown flags");
  variation.marked = (flags & kMarked) != 0;
  variation.chosen = (flags & kChosen) != 0;
  variation.stamped = (flags & kStamped) != 0;
  variation.context = from.get<std::uint32_t>();
  variation.median_ns = from.get<std::uint64_t>();
  variation.rows.resize(from.get_count(8));
  for (Variation::Row& row : variation.rows) {
    row.rank = from.get<std::int32_t>();
    row.sos_ns.resize(from.get_count(1));
    for (std::uint64_t& ns : row.sos_ns) ns = from.get_varint();
  }
  variation.outliers.resize(from.get_count(20));
  for (Variation::Outlier& outlier : variation.outliers) {
    outlier.rank = from.get<std::int32_t>();
    outlier.segment = from.get<std::uint32_t>();
    outlier.context = from.get<std::uint32_t>();
    outlier.sos_ns = from.get<std::uint64_t>();
  }
  if ((flags & kDurations) != 0) variation.longest_ns.resize(from.get_count(1));
  for (std::uint64_t& ns : variation.longest_ns) ns = from.get_varint();
  return variation;
}

std::vector<Variation> decode_variations(ByteSpan bytes) {
  if (bytes.empty()) return {};
  Decoder from(bytes, "the section on variation");
  const std::uint32_t count = from.get_count(24);
  std::vector<Variation> variations;
  variations.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) variations.push_back(get_variation(from));
  if (from.remaining() == 0) return variations;  // of an older writer, or without segments
  for (Variation& variation : variations) {
    for (Variation::Row& row : variation.rows) get_begins(row, from);
  }
  if (from.remaining() == 0) return variations;  // likewise, or without outliers
  for (Variation& variation : variations) {
    for (Variation::Outlier& outlier : variation.outliers) outlier.location = from.get<std::uint32_t>();
  }
  return variations;
}

}  // namespace

void encode_trace_analyses(const TraceAnalyses& analyses, SectionBytes& sections) {
  if (analyses.traced == 0) return;
  sections[slot(Section::trace_summary)] = encode_summary(analyses);
  sections[slot(Section::causes)] = encode_causes(analyses.causes);
  sections[slot(Section::critical_path)] = encode_critical(analyses.critical);
  sections[slot(Section::hotspots)] = encode_hotspots(analyses.hotspots);
  sections[slot(Section::variation)] = encode_variations(analyses.variations);
  sections[slot(Section::time_map)] = encode_time_map(analyses.time_map);
  sections[slot(Section::segment_metrics)] = encode_segment_metrics(analyses);
}

TraceAnalyses decode_trace_analyses(const SectionSpans& sections) {
  TraceAnalyses analyses;
  decode_summary(sections[slot(Section::trace_summary)], analyses);
  analyses.causes = decode_causes(sections[slot(Section::causes)]);
  analyses.critical = decode_critical(sections[slot(Section::critical_path)]);
  analyses.hotspots = decode_hotspots(sections[slot(Section::hotspots)]);
  analyses.variations = decode_variations(sections[slot(Section::variation)]);
  analyses.time_map = decode_time_map(sections[slot(Section::time_map)]);
  decode_segment_metrics(sections[slot(Section::segment_metrics)], analyses);
  return analyses;
}

using format::Section;

namespace {

template <class Row>
Bytes encode(const std::vector<Row>& rows) {
  Encoder to;
  to.append(std::as_bytes(std::span(rows)));
  return to.take();
}

template <class Row>
std::vector<Row> decode(ByteSpan bytes) {
  std::vector<Row> rows(bytes.size() / sizeof(Row));
  if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(Row));
  return rows;
}

}  // namespace

void encode_communication(const Communication& communication, SectionBytes& sections) {
  sections[slot(Section::call_traffic)] = encode(communication.calls);
  sections[slot(Section::partner_traffic)] = encode(communication.partners);
}

Communication decode_communication(ByteSpan calls, ByteSpan partners) {
  return {.calls = decode<CallTraffic>(calls), .partners = decode<PartnerTraffic>(partners)};
}

bool is_sound(const Communication& communication, std::size_t locations, std::size_t contexts) {
  const std::vector<PartnerTraffic>& partners = communication.partners;
  return std::ranges::all_of(communication.calls,
                             [=](const CallTraffic& call) {
                               return call.context < contexts && call.busiest < locations &&
                                      call.threads <= locations && call.calls != 0;
                             }) &&
         std::ranges::all_of(partners, [&](const PartnerTraffic& partner) {
           return partner.from >= 0 && partner.to >= 0 && partner.ranks != 0 &&
                  partner.ranks == partners.front().ranks;
         });
}

}  // namespace culprit::database
