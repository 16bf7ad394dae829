// What an x86-64 instruction means for the way out of a function (docs/algorithms.md 14): its length, and
// what it does to rsp, rbp and the flow of control. From tables of operands by opcode (Intel SDM volume 2,
// appendix A), for the instructions that compilers emit; any other opcode is refused. Cost: the instruction's
// bytes.
#include "unwind/x86_64/instruction.hpp"

#include "unwind/call_frame.hpp"

namespace culprit::unwind {

namespace {

// Operands that follow an opcode, by the opcode maps.
enum Operands : std::uint8_t {
  kBad = 0,
  kNone = 1,
  kModRm = 2,
  kImm8 = 4,
  kImm32 = 8,   // 16 bits with the operand-size prefix
  kImm64 = 16,  // 32 bits without REX.W
};

/// Of the opcodes outside the ranges of one_byte_operands().
std::uint8_t single_operands(int code) noexcept {
  switch (code) {
    case 0x63:
    case 0xf6:  // with an immediate for two of its operations
    case 0xf7:
    case 0xfe:
    case 0xff:
      return kModRm;
    case 0x69:
    case 0x81:
    case 0xc7:
      return kModRm | kImm32;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return kModRm | kImm8;
    case 0x68:
    case 0xa9:
    case 0xe8:
    case 0xe9:
      return kImm32;
    case 0x6a:
    case 0xa8:
    case 0xeb:
      return kImm8;
    case 0xa4:
    case 0xa5:
    case 0xa6:
    case 0xa7:
    case 0xaa:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xae:
    case 0xaf:
    case 0xc3:
    case 0xc9:
    case 0xf5:
    case 0xf8:
    case 0xf9:
    case 0xfc:
    case 0xfd:
      return kNone;
    default:
      return code >= 0xe0 && code < 0xe4 ? kImm8 : kBad;
  }
}

std::uint8_t one_byte_operands(int code) noexcept {
  if (code < 0x40) {
    const int column = code & 7;
    if (column < 4) return kModRm;
    return column == 4 ? kImm8 : column == 5 ? kImm32 : kBad;
  }
  if (code >= 0x50 && code < 0x60) return kNone;
  if (code >= 0x70 && code < 0x80) return kImm8;
  if (code >= 0x84 && code < 0x90) return kModRm;
  if (code >= 0x90 && code < 0xa0) return code == 0x9a ? kBad : kNone;
  if (code >= 0xb0 && code < 0xb8) return kImm8;
  if (code >= 0xb8 && code < 0xc0) return kImm64;
  if ((code >= 0xd0 && code < 0xd4) || (code >= 0xd8 && code < 0xe0)) return kModRm;
  return single_operands(code);
}

std::uint8_t two_byte_operands(int code) noexcept {
  if (code >= 0x80 && code < 0x90) return kImm32;
  if (code >= 0xc8 && code < 0xd0) return kNone;
  switch (code) {
    case 0x05:  // syscall
    case 0x31:
    case 0x77:
    case 0xa2:
      return kNone;
    case 0x70:
    case 0x71:
    case 0x72:
    case 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return kModRm | kImm8;
    case 0x01:  // also xgetbv, rdtscp, ...: all with ModRM
    case 0xa3:
    case 0xa5:
    case 0xab:
    case 0xad:
    case 0xae:  // fences, rdfsbase, incssp
    case 0xaf:
    case 0xc0:
    case 0xc1:
    case 0xc3:
    case 0xc7:
      return kModRm;
    default:
      break;
  }
  const bool modrm = (code >= 0x10 && code < 0x20) || (code >= 0x28 && code < 0x30) ||
                     (code >= 0x40 && code < 0x80) || (code >= 0x90 && code < 0xa0) ||
                     (code >= 0xb0 && code < 0xc0) || code >= 0xd0;
  return modrm ? kModRm : kBad;
}

class Decoder {
 public:
  explicit Decoder(CodeBytes& code) noexcept : code_(code) {}

  Instruction decode() noexcept {
    read_prefixes();
    opcode_ = code_.at(at_++);
    std::uint8_t operands = kBad;
    if (opcode_ == 0xc4 || opcode_ == 0xc5 || opcode_ == 0x62) {
      operands = vector_operands();
    } else if (opcode_ == 0x0f) {
      operands = escaped_operands();
    } else if (opcode_ >= 0) {
      operands = one_byte_operands(opcode_);
    }
    if (operands == kBad) return {};
    read_operands(operands);
    if (code_.at(at_ - 1) < 0) return {};
    result_.length = at_;
    result_.kind = map_ == 1 ? general_kind() : map_ == 2 ? escaped_kind() : Kind::other;
    return result_;
  }

 private:
  using Kind = Instruction::Kind;

  void read_prefixes() noexcept {
    for (;; ++at_) {
      const int byte = code_.at(at_);
      if (byte == 0x66) {
        short_operand_ = true;
      } else if (byte != 0x26 && byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x64 &&
                 byte != 0x65 && byte != 0xf0 && byte != 0xf2 && byte != 0xf3) {
        break;
      }
      if (at_ == 14) break;
    }
    const int rex = code_.at(at_);
    if (rex >= 0x40 && rex < 0x50) {
      rex_ = rex;
      ++at_;
    }
  }

  std::uint8_t escaped_operands() noexcept {
    map_ = 2;
    opcode_ = code_.at(at_++);
    if (opcode_ < 0) return kBad;
    if (opcode_ != 0x38 && opcode_ != 0x3a) return two_byte_operands(opcode_);
    const bool immediate = opcode_ == 0x3a;
    map_ = 3;
    ++at_;
    return immediate ? kModRm | kImm8 : kModRm;
  }

  // VEX and EVEX: the map is in the prefix.
  std::uint8_t vector_operands() noexcept {
    const int payload = code_.at(at_);
    const int map = opcode_ == 0xc5 ? 1 : opcode_ == 0xc4 ? payload & 0x1f : payload & 7;
    at_ += opcode_ == 0xc5 ? 1 : opcode_ == 0xc4 ? 2 : 3;
    opcode_ = code_.at(at_++);
    map_ = 3;
    if (opcode_ < 0) return kBad;
    if (map == 1) return two_byte_operands(opcode_);
    if (map == 2) return kModRm;
    return map == 3 ? kModRm | kImm8 : kBad;
  }

  void read_operands(std::uint8_t operands) noexcept {
    if ((operands & kModRm) != 0) read_modrm();
    if (map_ == 1 && (opcode_ == 0xf6 || opcode_ == 0xf7) && (modrm_ >> 3 & 7) < 2)
      operands |= opcode_ == 0xf6 ? kImm8 : kImm32;
    const int word = short_operand_ && (rex_ & 8) == 0 ? 2 : 4;
    const int size = (operands & kImm8) != 0    ? 1
                     : (operands & kImm32) != 0 ? word
                     : (operands & kImm64) != 0 ? ((rex_ & 8) != 0 ? 8 : word)
                                                : 0;
    if (size != 0) immediate_ = code_.number(at_, size);
    at_ += size;
    result_.target =
        code_.address() + static_cast<std::uint64_t>(at_) + static_cast<std::uint64_t>(immediate_);
  }

  void read_modrm() noexcept {
    modrm_ = code_.at(at_++);
    const int mod = modrm_ >> 6;
    const int rm = modrm_ & 7;
    reg_ = (modrm_ >> 3 & 7) | (rex_ & 4) << 1;
    rm_ = rm | (rex_ & 1) << 3;
    if (mod == 3) return;
    memory_ = true;
    base_ = rm_;
    if (rm == 4) {
      const int sib = code_.at(at_++);
      base_ = (sib & 7) | (rex_ & 1) << 3;
      if ((sib >> 3 & 7) != 4 || (rex_ & 2) != 0) base_ = -1;  // indexed
      if (mod == 0 && (sib & 7) == 5) {
        base_ = -1;
        at_ += 4;
      }
    } else if (mod == 0 && rm == 5) {
      base_ = -1;  // relative to the pc
      at_ += 4;
    }
    const int size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (size != 0) displacement_ = code_.number(at_, size);
    at_ += size;
  }

  // rsp or rbp is computed in a way that is not followed.
  [[nodiscard]] static Kind written(int number) noexcept {
    return number == kStack ? Kind::unknown : number == kFrame ? Kind::spoil_bp : Kind::other;
  }

  Kind moved(int to, int from, std::int64_t offset) noexcept {
    result_.number = offset;
    if (to == kStack && from == kStack) return Kind::adjust;
    if (to == kStack && from == kFrame) return Kind::from_bp;
    if (to == kFrame && from == kStack) return Kind::to_bp;
    return written(to);
  }

  Kind general_kind() noexcept {
    const int operation = modrm_ >> 3 & 7;
    const int low = opcode_ & 7;
    if (opcode_ < 0x40) {
      if (opcode_ >= 0x38 || (opcode_ & 1) == 0 || low > 3) return Kind::other;  // cmp, bytes, rax
      return low == 1 ? (memory_ ? Kind::other : written(rm_)) : written(reg_);
    }
    if (opcode_ < 0x60) {
      result_.reg = static_cast<std::uint8_t>(low | (rex_ & 1) << 3);
      if (opcode_ < 0x58) return Kind::push;
      return result_.reg == kStack ? Kind::unknown : Kind::pop;
    }
    if (opcode_ >= 0x70 && opcode_ < 0x80) return Kind::branch;
    if (opcode_ >= 0x91 && opcode_ < 0x98) return written((opcode_ & 7) | (rex_ & 1) << 3);  // xchg
    if (opcode_ >= 0xb8 && opcode_ < 0xc0) return written(low | (rex_ & 1) << 3);
    return single_kind(operation);
  }

  Kind single_kind(int operation) noexcept {
    switch (opcode_) {
      case 0x68:
      case 0x6a:
        result_.reg = Instruction::kMemory;
        return Kind::push;
      case 0x63:
      case 0x69:
      case 0x6b:
        return written(reg_);
      case 0x81:
      case 0x83:
        return arithmetic(operation);
      case 0x87:
        return written(rm_ == kStack && !memory_ ? rm_ : reg_);
      case 0x89:
        return memory_ ? Kind::other : moved(rm_, reg_, 0);
      case 0x8b:
        return memory_ ? loaded() : moved(reg_, rm_, 0);
      case 0x8d:
        return moved(reg_, base_, displacement_);
      case 0x8f:
        return Kind::unknown;
      case 0xc1:
      case 0xc7:
      case 0xd1:
      case 0xd3:
        return memory_ ? Kind::other : written(rm_);
      case 0xc3:
        return Kind::ret;
      case 0xc9:
        return Kind::leave;
      case 0xe8:
        return Kind::call;
      case 0xe9:
      case 0xeb:
        return Kind::jump;
      case 0xe0:
      case 0xe1:
      case 0xe2:
      case 0xe3:
        return Kind::branch;
      case 0xf7:
        return memory_ || operation < 2 || operation > 3 ? Kind::other : written(rm_);
      case 0xff:
        return grouped(operation);
      default:
        return Kind::other;
    }
  }

  // Group 1: add or, adc, sbb, and, sub, xor, cmp with an immediate.
  Kind arithmetic(int operation) noexcept {
    if (memory_ || operation == 7) return Kind::other;
    if (rm_ != kStack || (operation != 0 && operation != 5)) return written(rm_);
    result_.number = operation == 0 ? immediate_ : -immediate_;
    return Kind::adjust;
  }

  Kind loaded() noexcept {
    if (reg_ != kFrame || (base_ != kStack && base_ != kFrame)) return written(reg_);
    result_.reg = base_ == kStack ? machine::This::kStackPointer : machine::This::kFramePointer;
    result_.number = displacement_;
    return Kind::load_bp;
  }

  // Group 5.
  Kind grouped(int operation) noexcept {
    switch (operation) {
      case 0:
      case 1:
        return memory_ ? Kind::other : written(rm_);
      case 2:
        return Kind::call;
      case 4:
        result_.reg = memory_ ? Instruction::kMemory : static_cast<std::uint8_t>(rm_);
        return Kind::jump_to;
      case 6:
        result_.reg = memory_ ? Instruction::kMemory : static_cast<std::uint8_t>(rm_);
        return Kind::push;
      default:
        return Kind::unknown;
    }
  }

  Kind escaped_kind() noexcept {
    if (opcode_ >= 0x80 && opcode_ < 0x90) return Kind::branch;
    const bool general = (opcode_ >= 0x40 && opcode_ < 0x50) || opcode_ == 0xaf || opcode_ == 0xb6 ||
                         opcode_ == 0xb7 || opcode_ == 0xb8 || (opcode_ >= 0xbc && opcode_ < 0xc0);
    return general ? written(reg_) : Kind::other;
  }

  // Hardware numbers, which differ from DWARF's for other registers.
  static constexpr int kStack = 4;
  static constexpr int kFrame = 5;

  CodeBytes& code_;
  Instruction result_;
  int at_ = 0;
  int map_ =
      1;  // 1: one byte, 2: 0f, 3: vector and longer escapes, which write no general register of interest
  int opcode_ = -1;
  int rex_ = 0;
  int modrm_ = 0;
  int reg_ = 0, rm_ = 0;
  int base_ = -1;  // of a memory operand without index; -1: none
  bool memory_ = false;
  bool short_operand_ = false;
  std::int64_t displacement_ = 0;
  std::int64_t immediate_ = 0;
};

}  // namespace

Instruction decode_instruction(CodeBytes& code) noexcept {
  return Decoder(code).decode();
}

}  // namespace culprit::unwind
