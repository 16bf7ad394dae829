// Finds where the computed jumps of switch statements lead (docs/algorithms.md 15), by the forms that gcc and
// clang give them on x86-64 (jump_tables.hpp). Looks back from the jump for the load of an entry (16
// instructions), the bounds check (24) and the table's address (4096), and reads entries until one is no
// instruction of the procedure. Cost of a jump: these distances, and a binary search per entry.
#include "structure/jump_tables.hpp"

#include "structure/aarch64_code.hpp"

#include <algorithm>
#include <cstring>

namespace culprit::structure {
namespace {

/// A switch of a compiler has at most this many entries before it is taken for damage.
constexpr std::size_t kMostEntries = 8192;
/// How many instructions before the jump its table is loaded, and its index checked.
constexpr std::size_t kLoadDistance = 16, kCheckDistance = 24;
/// How far the address of the table may be set before the jump.
constexpr std::size_t kBaseDistance = 4096;

ZydisRegister whole(ZydisRegister part) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part);
}

bool is_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER;
}
bool is_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/// Whether the operand reads table[index * scale] with the given scale, through a base register or an
/// absolute address.
bool reads_table(const ZydisDecodedOperand& operand, unsigned scale) {
  return is_memory(operand) && operand.mem.index != ZYDIS_REGISTER_NONE && operand.mem.scale == scale;
}

bool writes_to(const DetailedInstruction& detail, ZydisRegister reg) {
  const ZydisDecodedOperand& first = detail.operands[0];
  return detail.instruction.operand_count_visible > 0 && is_register(first) &&
         whole(first.reg.value) == reg && (first.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

}  // namespace

/// The constant that the last setting of `wanted` before instruction `before` gave it; with no particular
/// register wanted, the last address of read-only data. 0 where none is found.
std::uint64_t JumpTables::table_base(std::span<const Instruction> instructions, std::size_t before,
                                     ZydisRegister wanted) const {
  const std::size_t last = before > kBaseDistance ? before - kBaseDistance : 0;
  DetailedInstruction detail;
  for (std::size_t i = before; i-- > last;) {
    if (!decoder_.decode_details(instructions[i].address, detail)) continue;
    const auto& first = detail.operands[0];
    const auto& second = detail.operands[1];
    if (wanted != ZYDIS_REGISTER_NONE && !writes_to(detail, wanted)) continue;
    if (detail.instruction.mnemonic == ZYDIS_MNEMONIC_LEA && second.mem.base == ZYDIS_REGISTER_RIP) {
      const std::uint64_t address = instructions[i].end() + static_cast<std::uint64_t>(second.mem.disp.value);
      if (!module_.bytes(address).empty() && !module_.executable(address)) return address;
    } else if (detail.instruction.mnemonic == ZYDIS_MNEMONIC_MOV && is_register(first) &&
               second.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      if (!module_.bytes(second.imm.value.u).empty() && !module_.executable(second.imm.value.u))
        return second.imm.value.u;
    }
  }
  return 0;
}

JumpTables::Table JumpTables::locate(std::span<const Instruction> instructions, std::size_t jump) const {
  DetailedInstruction detail;
  if (!decoder_.decode_details(instructions[jump].address, detail)) return {};
  const ZydisDecodedOperand target = detail.operands[0];
  if (reads_table(target, 8)) {
    if (target.mem.base == ZYDIS_REGISTER_NONE)
      return {static_cast<std::uint64_t>(target.mem.disp.value), false, 0};
    return {table_base(instructions, jump, whole(target.mem.base)), false, 0};
  }
  const std::size_t last = jump > kLoadDistance ? jump - kLoadDistance : 0;
  bool added = false;
  for (std::size_t i = jump; i-- > last;) {
    if (!decoder_.decode_details(instructions[i].address, detail)) continue;
    const auto mnemonic = detail.instruction.mnemonic;
    const auto& from = detail.operands[1];
    if (mnemonic == ZYDIS_MNEMONIC_ADD && is_register(detail.operands[0]) && is_register(from)) added = true;
    if (mnemonic != ZYDIS_MNEMONIC_MOV && mnemonic != ZYDIS_MNEMONIC_MOVSXD) continue;
    if (!is_register(detail.operands[0]) || !is_memory(from)) continue;
    const unsigned bytes = from.size / 8U;
    if (added && bytes == 4) {
      if (from.mem.base == ZYDIS_REGISTER_RSP || from.mem.base == ZYDIS_REGISTER_RBP) continue;
      // At -O0 base and scaled index are two registers without a scale: then any table address before the
      // jump.
      const bool scaled = reads_table(from, 4) && from.mem.base != ZYDIS_REGISTER_NONE;
      return {table_base(instructions, i, scaled ? whole(from.mem.base) : ZYDIS_REGISTER_NONE), true, 0};
    }
    if (!added && bytes == 8 && from.mem.disp.value > 0 && from.mem.base == ZYDIS_REGISTER_NONE)
      return {static_cast<std::uint64_t>(from.mem.disp.value), false, 0};
    if (!added && reads_table(from, 8)) return {table_base(instructions, i, whole(from.mem.base)), false, 0};
    if (!added && bytes == 8 && from.mem.base != ZYDIS_REGISTER_RSP && from.mem.base != ZYDIS_REGISTER_RBP &&
        from.mem.disp.value > 0x1000)
      return {static_cast<std::uint64_t>(from.mem.disp.value), false, 0};
  }
  return {};
}

/// The number of entries by the last `cmp index, n; ja default` before the jump, kMostEntries where none is
/// found.
std::size_t JumpTables::bound(std::span<const Instruction> instructions, std::size_t jump) const {
  const std::size_t last = jump > kCheckDistance ? jump - kCheckDistance : 0;
  DetailedInstruction detail;
  bool checked = false;
  for (std::size_t i = jump; i-- > last;) {
    if (!decoder_.decode_details(instructions[i].address, detail)) continue;
    const auto mnemonic = detail.instruction.mnemonic;
    if (mnemonic == ZYDIS_MNEMONIC_JNBE || mnemonic == ZYDIS_MNEMONIC_JBE) checked = true;
    if (!checked || mnemonic != ZYDIS_MNEMONIC_CMP) continue;
    const auto& limit = detail.operands[1];
    if (limit.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || limit.imm.value.u >= kMostEntries) break;
    return static_cast<std::size_t>(limit.imm.value.u) + 1;
  }
  return kMostEntries;
}

std::vector<std::uint64_t> JumpTables::targets(std::span<const Instruction> instructions,
                                               std::size_t jump) const {
  if (module_.is_aarch64()) return aarch64::jump_targets(module_, instructions, jump);
  std::vector<std::uint64_t> found;
  const Table table = locate(instructions, jump);
  if (table.address == 0 || module_.executable(table.address)) return found;
  const auto bytes = module_.bytes(table.address);
  const std::size_t size = table.relative ? 4 : 8;
  const std::size_t entries = std::min(bytes.size() / size, bound(instructions, jump));
  for (std::size_t i = 0; i < entries; ++i) {
    std::uint64_t target = 0;
    if (table.relative) {
      std::int32_t distance = 0;
      std::memcpy(&distance, bytes.data() + i * size, size);
      target = table.address + static_cast<std::uint64_t>(std::int64_t{distance});
    } else {
      target = module_.pointer(table.address + i * size);
    }
    const auto at = std::ranges::lower_bound(instructions, target, {}, &Instruction::address);
    if (at == instructions.end() || at->address != target) break;
    found.push_back(target);
  }
  return found;
}

}  // namespace culprit::structure
