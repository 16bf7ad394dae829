#include "structure/entry_point.hpp"

#include "structure/machine_code.hpp"

namespace culprit::structure {
namespace {

constexpr int kStartCode = 32;           // instructions; glibc's start code has about fifteen
constexpr std::uint8_t kGuessed = 0xff;  // any symbol is a better name than these

/// The address that an instruction puts into the first argument's register, 0 if it does no such thing.
std::uint64_t first_argument(const DetailedInstruction& code, std::uint64_t address) {
  const ZydisDecodedOperand& to = code.operands[0];
  const ZydisDecodedOperand& from = code.operands[1];
  if (code.instruction.operand_count < 2 || to.type != ZYDIS_OPERAND_TYPE_REGISTER) return 0;
  if (to.reg.value != ZYDIS_REGISTER_RDI && to.reg.value != ZYDIS_REGISTER_EDI) return 0;
  if (code.instruction.mnemonic == ZYDIS_MNEMONIC_MOV && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    return from.imm.value.u;
  ZyanU64 target = 0;
  if (code.instruction.mnemonic != ZYDIS_MNEMONIC_LEA ||
      !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&code.instruction, &from, address, &target))) {
    return 0;
  }
  return target;
}

/// The start code passes main to __libc_start_main, which it calls first.
std::uint64_t main_of(const Module& module, std::uint64_t start) {
  const Decoder decoder(module);
  std::uint64_t address = start, found = 0;
  DetailedInstruction code;
  for (int i = 0; i < kStartCode && decoder.decode_details(address, code); ++i) {
    if (const std::uint64_t value = first_argument(code, address)) found = value;
    if (code.instruction.mnemonic == ZYDIS_MNEMONIC_CALL) return module.executable(found) ? found : 0;
    address += code.instruction.length;
  }
  return 0;
}

}  // namespace

std::vector<Symbol> entry_symbols(const Module& module) {
  GElf_Ehdr header{};
  const bool readable = module.elf() != nullptr && gelf_getehdr(module.elf(), &header) != nullptr;
  if (!readable || !module.is_x86_64() || !module.executable(header.e_entry)) return {};
  const std::uint64_t main = main_of(module, header.e_entry);
  if (main == 0) return {};
  return {{{header.e_entry, header.e_entry}, "_start", kGuessed}, {{main, main}, "main", kGuessed}};
}

}  // namespace culprit::structure
