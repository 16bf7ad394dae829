#pragma once

#include "structure/module.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::structure::aarch64 {

/// The instructions of `range`, 4 bytes each. Data among code ends the flow where it is no instruction.
std::vector<Instruction> decode(const Module& module, Range range);

/// Bytes of the head of a table of linkage stubs, and of each stub behind it.
inline constexpr std::uint64_t kStubHead = 32;
std::uint64_t stub_size(std::span<const std::byte> table);

/// The slot that the stub jumps through; 0 where it is none.
std::uint64_t slot_of(const Module& module, Range stub);

/// Whom the call names that returns to `address`; 0 where none ends there, or it names nobody.
std::uint64_t callee_before(const Module& module, std::uint64_t address);

/// Targets of the computed jump `instructions[jump]`, in the order of its table, by the forms that gcc and
/// clang give to switch statements; empty where they cannot be determined:
///
///     adrp t, table; add t, t, low; ldr[s]{b,h,w} w, [t, index]; adr a, anchor; add x, a, w, ext; br x
///     adrp t, table; add t, t, low; ldr x, [t, index, lsl #3]; br x
///
/// Entries are counted from the anchor, those of one or two bytes in instructions; without an anchor, from
/// the table. Those of eight bytes are addresses.
std::vector<std::uint64_t> jump_targets(const Module& module, std::span<const Instruction> instructions,
                                        std::size_t jump);

/// Where the instruction at `address` jumps, to one place and without a condition; 0 if it is another.
std::uint64_t jump_target(const Module& module, std::uint64_t address);

/// Whether the instruction at `address` enters the kernel.
bool calls_system(const Module& module, std::uint64_t address);

/// Where the jump leads that is all the function at `address` does but for setting arguments; 0 if it does
/// anything else before `end`.
std::uint64_t forwards_to(const Module& module, std::uint64_t address, std::uint64_t end);

/// The address of main that the start code passes to what it calls first; 0 where it is not understood.
std::uint64_t main_of(const Module& module, std::uint64_t start);

}  // namespace culprit::structure::aarch64
