#pragma once

#include "measurement/input_file.hpp"
#include "measurement/measurement.hpp"
#include "measurement/sealed_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// What the readers of the two forms share.
namespace culprit::measurement {

Measurement read_live(InputFile& file, Extent extent);

/// What reading many sealed files one after the other keeps from each for the next: memory, and the bytes of
/// the module section, which is the same in all processes of a program on one host.
struct SealedScratch {
  struct TreeSize {
    std::uint32_t nodes, cells;
  };
  std::vector<sealed::SectionEntry> table;
  std::vector<TreeSize> sizes;             ///< as the result's threads
  std::vector<std::uint64_t> last_offset;  ///< per module, and for none
  std::vector<std::uint8_t> own;           ///< likewise: whether it is one of ours
  std::vector<cct::NodeId> path;           ///< to a node
  std::vector<std::byte> modules;          ///< those that the result's modules were read from
};

/// Reads into `result`, whose memory is reused.
void read_sealed(InputFile& file, Extent extent, SealedScratch& scratch, Measurement& result);

/// The error for content that no writer leaves behind.
MeasurementError damaged(const std::filesystem::path& path, const std::string& what);

/// Throws for a format version that this program does not read: others than those from `oldest` to `newest`.
void check_version(const std::filesystem::path& path, std::uint32_t version, std::uint32_t oldest,
                   std::uint32_t newest);

/// What found no room while the process ran.
struct Losses {
  std::uint64_t threads = 0;
  std::uint64_t notes = 0;
  std::uint64_t modules = 0;
  std::uint64_t arguments = 0;
};

/// Adds a note for each kind of loss.
void note_losses(ProcessInfo& process, const Losses& losses);

/// Whether a clock gets to these times of a process, so that they can be added (kEndOfTime).
bool can_be(std::uint64_t start_ns, std::uint64_t end_ns, std::int64_t start_realtime_ns);

/// Adds a note if threads share a profile with others.
void note_shared(Measurement& measurement);

/// Numbers of a file as enumerators; what is unknown becomes running, none or root.
EndReason end_reason(std::uint64_t value);
constexpr WaitKind wait_kind(std::uint64_t value) {
  return value < kWaitKinds ? static_cast<WaitKind>(value) : WaitKind::none;
}
EpochKind epoch_kind(std::uint64_t value);
/// Whether the call that begins the stretch is a node of the thread's.
constexpr bool is_known(Stretch stretch, const ThreadProfile& thread) {
  return !stretch.is_gap() || stretch.after() < thread.nodes.size();
}
/// The sum of squares that a record of a stretch holds: of lengths as the bits of a double. 0 for what is no
/// sum of squares.
double squares_of(EpochKind kind, std::uint64_t word);
cct::FrameKind frame_kind(std::uint64_t value);

/// Bytes of a build-id as lower-case hexadecimal.
std::string hex(std::span<const std::byte> bytes);

}  // namespace culprit::measurement
