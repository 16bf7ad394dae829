#pragma once

#include "database/encoding.hpp"
#include "database/sections.hpp"

namespace culprit::database {

/// Finds the sections of a file: checks the header, the table, the checksums of header, table and sections
/// that have one, and that every section is there once, in bounds, of whole elements. Sections of unknown
/// number are skipped (later versions add some). Throws Malformed.
SectionSpans find_sections(ByteSpan file);

}  // namespace culprit::database
