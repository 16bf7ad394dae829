#pragma once

#include "measurement/live_layout.hpp"
#include "measurement/measurement.hpp"
#include "parts.hpp"

#include <cstddef>

// The files of a run as fuzzers mutate them. Most bytes of a live measurement and of a trace are holes; their
// inputs leave these out.
namespace fuzz {

/// A sealed measurement: its parts are the sections.
extern const Format kSealed;

/// A live measurement without its holes: the first bytes of the header, then of each granule its first bytes
/// and, in a granule that holds modules, those where their records begin.
extern const Format kLive;
Bytes compact_live(const Bytes& file);
/// The file that the bytes stand for, with a header that can be read and checksums made right.
Bytes expand_live(const Bytes& compact);

/// A trace without its holes: its header, then each block with its used bytes. Its parts are the blocks.
extern const Format kTrace;
Bytes compact_trace(const Bytes& file);
/// The file that the bytes stand for, with checksums and, where its header says that there is one, the index
/// made right.
Bytes expand_trace(const Bytes& compact);
/// Makes a compact trace that of this process, by what it says of itself.
void claim(Bytes& compact, const culprit::measurement::ProcessInfo& process);

/// A database: its parts are the sections.
extern const Format kDatabase;

/// Several files, one after the other, each with its size before it.
Bytes join_files(Parts files);
/// Nothing unless there are `count`.
Parts split_files(const Bytes& bytes, std::size_t count);

}  // namespace fuzz
