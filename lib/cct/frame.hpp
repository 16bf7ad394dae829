#pragma once

#include <compare>
#include <cstdint>

namespace culprit::cct {

/// What a frame of a call path stands for. Part of a frame's key: the same address seen as a return address
/// and as an interrupted pc are two frames (docs/algorithms.md 1).
enum class FrameKind : std::uint8_t {
  root = 0,      ///< the super-root of one thread's tree; address 0
  program_root,  ///< `<program root>`: paths that reached the main thread's first frame
  thread_root,   ///< `<thread root>`: paths that reached a created thread's first frame
  partial,       ///< `<partial>`: paths whose unwinding stopped before the thread's root
  call,          ///< a call site: the return address minus one
  sample,        ///< a sample point: the exact pc of the innermost frame (always a leaf)
  interrupted,   ///< an outer frame interrupted by a signal: its exact pc
  region,  ///< no code: a region that the program marks; `module` holds its name, offset 0; or a function of
           ///< an interpreter (measurement/python_function.hpp), with the line as offset
};
inline constexpr int kFrameKinds = 8;

/// A module index meaning "in no known module" (generated code, vdso that could not be found).
inline constexpr std::uint32_t kNoModule = 0xffffffff;

/// The identity of a frame within one measurement: `module` indexes that measurement's module table, `offset`
/// is an ELF virtual address of the module (never a run-time address; the raw address where module is
/// kNoModule).
struct FrameKey {
  std::uint64_t offset = 0;
  std::uint32_t module = kNoModule;
  FrameKind kind = FrameKind::root;

  friend constexpr auto operator<=>(const FrameKey&,
                                    const FrameKey&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Stands for the frames of a deep recursion that were left out of a path. A region without a name, since
/// none begins at offset 1: who does not know it shows it as one.
inline constexpr FrameKey kGap{.offset = 1, .module = kNoModule, .kind = FrameKind::region};

}  // namespace culprit::cct
