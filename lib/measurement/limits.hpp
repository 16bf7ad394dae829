#pragma once

#include <cstddef>
#include <cstdint>

// The bounds of a live measurement; all of its tables are fixed so that the handler never waits for memory.
namespace culprit::measurement {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNodeIndex = 0;  // unit 0 of a thread's arena is its header, never a node
/// For what it costs itself, a thread's sampling rate is halved at most so often, to a 64th: 200 Hz become 3,
/// with which a thread of some minutes still has a profile. Less would show nothing, and a handler that is
/// too slow for that has another illness.
inline constexpr std::uint64_t kMaxOwnHalvings = 6;
/// For what all threads cost, to a 512th: thousands that wake up again and again cost their share no sooner,
/// and together still have hundreds of samples per second.
inline constexpr std::uint64_t kMaxHalvings = 9;
inline constexpr std::size_t kMaxEvents = 8;  // besides REALTIME
/// What one thread's tree may grow to: some 700 000 contexts. A program with more has no use for more.
inline constexpr std::uint64_t kTreeBytes = std::uint64_t{64} << 20;
/// That live at one time, and the ended trees beside them. The kernel allows a process some 65 000 mappings:
/// a thread takes two of them for its stack, and its tree two more.
inline constexpr std::size_t kMaxThreads = 12288;
/// The number of threads of which the memory that samples usually touch is present from their start. Of
/// further ones, which mostly wait, it is found page by page.
inline constexpr std::size_t kPopulatedThreads = 256;
// Programs that start some threads anew for each phase or task see each of them; beyond this many ended ones
// of one start routine a new thread continues the tree of an ended one, or each would cost 64 KiB of disk.
inline constexpr std::uint32_t kEndedTrees = 64;
// Accumulators of one-sided communication per thread: call paths × windows × groups of peers. A power of two;
// three quarters are used, so that searches stay short. NWChem's threads call MPI on 3 400 paths.
inline constexpr std::size_t kEpochSlots = 16384;
inline constexpr std::size_t kEpochAccumulators = kEpochSlots / 4 * 3;
/// What comes after these is distinguished by call path, kind and size alone, in as many more.
inline constexpr std::size_t kCoarseAccumulators = kEpochSlots / 16;
/// Stamps of epochs that a thread keeps: with one operation per fence 512 fences, whose mean wait then has a
/// standard error of 4 % where waits vary as much as they last.
inline constexpr std::size_t kEpochStamps = 1024;
/// Accumulators of stretches per thread, in a table of the same size. What comes after these is not known
/// exactly.
inline constexpr std::size_t kStretchAccumulators = kEpochSlots / 4 * 3;
/// Accumulators of what MPI calls move per thread, in another such table: partners leave room for call paths,
/// and further call paths have one together.
inline constexpr std::size_t kCallAccumulators = kEpochSlots / 4 * 3, kPartnerAccumulators = kEpochSlots / 2;
/// Accumulators of what a thread's code made others wait, in another such table; what finds no room counts at
/// the root.
inline constexpr std::size_t kCausedAccumulators = kEpochSlots / 4 * 3;
inline constexpr std::size_t kCausedAtRoot = 2 + 7;  // kinds, and kThreadTotals
/// No thread has more records of all of these.
inline constexpr std::size_t kEpochRecords = kEpochAccumulators + kCoarseAccumulators + kEpochStamps +
                                             kStretchAccumulators + kCallAccumulators + 3 +
                                             kCausedAccumulators + kCausedAtRoot;
inline constexpr std::size_t kMaxModules = 4096;
/// Ranks of a run: more than the largest machines have cores. What is kept by rank is bounded by it.
inline constexpr std::uint32_t kMaxRanks = std::uint32_t{1} << 24;
/// No clock gets so far, in ns: 146 years. So times can be added, and moved from one host's clock to
/// another's.
inline constexpr std::uint64_t kEndOfTime = std::uint64_t{1} << 62;
// No trace of a process grows beyond this, whatever its limit: the table of its blocks is made for that.
inline constexpr std::uint64_t kMostTraceBytes = std::uint64_t{1} << 36;
// The least limit: its header, what the process defines, and a block for each of some threads.
inline constexpr std::uint64_t kLeastTraceBytes = std::uint64_t{1} << 19;

}  // namespace culprit::measurement
