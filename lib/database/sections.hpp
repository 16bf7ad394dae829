#pragma once

#include "database/database.hpp"
#include "database/encoding.hpp"
#include "database/format.hpp"

#include <array>

namespace culprit::database {

/// The sections that hold an experiment (all but the per-thread values), by section number − 1; unused
/// numbers are empty.
using SectionBytes = std::array<Bytes, format::kLastSection>;
using SectionSpans = std::array<ByteSpan, format::kLastSection>;

constexpr std::size_t slot(format::Section section) {
  return static_cast<std::size_t>(section) - 1;
}

/// Encodes an experiment (docs/formats.md, "Sections"). It must be consistent.
SectionBytes encode_experiment(const Experiment& experiment);

/// Decodes an experiment. Throws Malformed on bytes that do not decode; references between sections are left
/// to check_consistency, except those that decoding itself needs.
Experiment decode_experiment(const SectionSpans& sections);

/// The sections that hold compressed text; used by encode/decode_experiment.
void encode_sources(const std::vector<SourceFile>& sources, Encoder& index, Encoder& data);
std::vector<SourceFile> decode_sources(ByteSpan index, ByteSpan data);

}  // namespace culprit::database
