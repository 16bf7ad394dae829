#pragma once

#include "database/database.hpp"
#include "database/encoding.hpp"
#include "database/format.hpp"

#include <array>

namespace culprit::database {

/// The sections that hold an experiment (all but the per-thread values), by section number − 1; unused
/// numbers are empty.
using SectionBytes = std::array<Bytes, format::kLastSection>;

constexpr std::size_t slot(format::Section section) {
  return static_cast<std::size_t>(section) - 1;
}

/// Encodes all of an experiment (docs/formats.md, "Sections") but its locations, of which `hosts` are the
/// hosts. It must be consistent.
SectionBytes encode_experiment(const Experiment& experiment, const std::vector<std::string>& hosts);

/// The different hosts of locations, ascending.
std::vector<std::string> hosts_of(const EachLocation& locations);

/// Appends one element of the section of locations; `hosts` must hold its host.
void encode_location(const Location& location, const std::vector<std::string>& hosts, Encoder& into);

/// The section on the run.
struct Meta {
  Run run;
  Quality quality;
  std::vector<Metric> metrics;
  std::vector<Role> roles;
  std::vector<std::string> hosts;  ///< that locations refer to
};

/// Each decodes one section and throws Malformed on bytes that do not decode. What they refer to in other
/// sections is not checked.
Meta decode_meta(ByteSpan bytes);
std::vector<ModuleInfo> decode_modules(ByteSpan bytes);
std::vector<Suspect> decode_suspects(ByteSpan bytes);
std::vector<Wait> decode_waits(ByteSpan bytes);
/// Of each of the waits; of none where the section is empty.
void decode_direct_waits(ByteSpan bytes, std::vector<Wait>& waits);

/// Sections as they are read, by section number − 1; those that nobody needs may be empty.
using SectionSpans = std::array<ByteSpan, format::kLastSection>;

/// The sections of what time lines show, empty without a trace.
void encode_trace_analyses(const TraceAnalyses& analyses, SectionBytes& sections);
TraceAnalyses decode_trace_analyses(const SectionSpans& sections);

/// Section 34, one of those.
Bytes encode_time_map(const TimeMap& map);
TimeMap decode_time_map(ByteSpan bytes);

/// Section 35, one of those: what segments have beside their times. Variations are complete but for that.
Bytes encode_segment_metrics(const TraceAnalyses& analyses);
void decode_segment_metrics(ByteSpan bytes, TraceAnalyses& analyses);

/// Sections 36 and 37.
void encode_machine(const Machine& machine, SectionBytes& sections);
Machine decode_machine(ByteSpan threads, ByteSpan suspects);

/// Section 39.
Bytes encode_varying_gaps(std::span<const VaryingGap> gaps);
std::vector<VaryingGap> decode_varying_gaps(ByteSpan bytes);

/// Sections 40 and 41.
void encode_communication(const Communication& communication, SectionBytes& sections);
Communication decode_communication(ByteSpan calls, ByteSpan partners);

/// The sections that hold compressed text; its index and its data.
void encode_sources(const std::vector<SourceFile>& sources, Encoder& index, Encoder& data);
std::vector<SourceFile> decode_sources(ByteSpan index, ByteSpan data);

}  // namespace culprit::database
