#pragma once

#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"

// The call-frame instructions (DWARF 5, 6.4.2; docs/algorithms.md 14) and the extensions of GNU and Arm, run
// up to one code address: the rules for CFA and registers that hold there. Bounded: eight remembered states;
// rules of registers that the walker never needs are parsed and dropped.

namespace culprit::unwind {

namespace call_frame_program {

enum : std::uint8_t {
  kAdvanceLoc = 0x40,  // the top two bits; the rest is the operand
  kOffset = 0x80,
  kRestore = 0xc0,
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kNegateReturnState = 0x2d,  // DW_CFA_AARCH64_negate_ra_state
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
};

// Rules for registers the walker never needs (vector registers and such) are parsed and dropped.
template <typename Machine>
class Program {
 public:
  Program(const CodeModule& module, const FrameDescription& description, std::uint64_t pc,
          RowWorkspaceOf<Machine>& workspace) noexcept
      : module_(module),
        description_(description),
        pc_(pc),
        place_(description.code_begin),
        workspace_(workspace),
        row_(workspace.row) {}

  bool run(std::uint64_t begin, std::uint64_t end, bool initial) noexcept {
    ByteCursor cursor(begin, end);
    while (cursor.more() && !past_) {
      if (!step(cursor, initial)) return false;
    }
    return cursor.ok();
  }

 private:
  bool step(ByteCursor& cursor, bool initial) noexcept {
    const auto byte = cursor.read<std::uint8_t>();
    const std::uint64_t operand = byte & 0x3fU;
    switch (byte & 0xc0U) {
      case kAdvanceLoc:
        advance(operand);
        return true;
      case kOffset:
        set(operand, RegisterHow::at_offset, scaled(cursor.uleb()));
        return cursor.ok();
      case kRestore:
        return restore(operand, initial);
      default:
        break;
    }
    if (byte == kNop) return true;
    if (byte <= kAdvanceLoc4) return move(byte, cursor);
    if (byte >= kDefCfa && byte <= kDefCfaExpression) return define_cfa(byte, cursor);
    if (byte == kDefCfaSf || byte == kDefCfaOffsetSf) return define_cfa(byte, cursor);
    if (byte == kRememberState || byte == kRestoreState) return remember(byte);
    if (byte == kGnuArgsSize) {
      cursor.uleb();
      return cursor.ok();
    }
    if (Machine::kSignsReturns && byte == kNegateReturnState) {
      row_.signed_return = !row_.signed_return;
      return true;
    }
    return define_register(byte, cursor, initial);
  }

  void advance(std::uint64_t units) noexcept {
    const std::uint64_t next = place_ + units * description_.code_alignment;
    past_ = next > pc_ || next < place_;
    place_ = next;
  }

  bool move(std::uint8_t byte, ByteCursor& cursor) noexcept {
    switch (byte) {
      case kSetLoc: {
        const PointerBases bases{.data = module_.eh_frame_hdr,
                                 .function = description_.code_begin,
                                 .mapped_begin = module_.begin,
                                 .mapped_end = module_.end};
        place_ = cursor.pointer(description_.pointer_encoding, bases);
        past_ = place_ > pc_;
        break;
      }
      case kAdvanceLoc1:
        advance(cursor.read<std::uint8_t>());
        break;
      case kAdvanceLoc2:
        advance(cursor.read<std::uint16_t>());
        break;
      default:
        advance(cursor.read<std::uint32_t>());
        break;
    }
    return cursor.ok();
  }

  bool define_cfa(std::uint8_t byte, ByteCursor& cursor) noexcept {
    RegisterRule& cfa = row_.cfa;
    if (byte == kDefCfaExpression) {
      cfa = {static_cast<std::int64_t>(cursor.at()), RegisterHow::is_expression};
      return skip_block(cursor);
    }
    const bool sets_register = byte == kDefCfa || byte == kDefCfaSf || byte == kDefCfaRegister;
    if (sets_register) {
      const std::uint64_t number = cursor.uleb();
      if (number >= Machine::kProgramCounter) return false;
      row_.cfa_register = static_cast<std::uint8_t>(number);
    }
    if (byte == kDefCfa || byte == kDefCfaSf) {
      cfa.how = RegisterHow::in_register;
    } else if (cfa.how != RegisterHow::in_register) {
      return false;  // half a register-and-offset rule needs the other half to exist
    }
    if (byte == kDefCfa || byte == kDefCfaOffset) cfa.value = static_cast<std::int64_t>(cursor.uleb());
    if (byte == kDefCfaSf || byte == kDefCfaOffsetSf) cfa.value = scaled_signed(cursor.sleb());
    return cursor.ok();
  }

  bool define_register(std::uint8_t byte, ByteCursor& cursor, bool initial) noexcept {
    const std::uint64_t number = cursor.uleb();
    switch (byte) {
      case kOffsetExtended:
        set(number, RegisterHow::at_offset, scaled(cursor.uleb()));
        break;
      case kGnuNegativeOffsetExtended:
        set(number, RegisterHow::at_offset, scaled_signed(-static_cast<std::int64_t>(cursor.uleb())));
        break;
      case kOffsetExtendedSf:
        set(number, RegisterHow::at_offset, scaled_signed(cursor.sleb()));
        break;
      case kValOffset:
        set(number, RegisterHow::is_offset, scaled(cursor.uleb()));
        break;
      case kValOffsetSf:
        set(number, RegisterHow::is_offset, scaled_signed(cursor.sleb()));
        break;
      case kRegister:
        set(number, RegisterHow::in_register, static_cast<std::int64_t>(cursor.uleb()));
        break;
      case kUndefined:
        set(number, RegisterHow::undefined, 0);
        break;
      case kSameValue:
        set(number, RegisterHow::same, 0);
        break;
      case kRestoreExtended:
        return cursor.ok() && restore(number, initial);
      case kExpression:
        set(number, RegisterHow::at_expression, static_cast<std::int64_t>(cursor.at()));
        return skip_block(cursor);
      case kValExpression:
        set(number, RegisterHow::is_expression, static_cast<std::int64_t>(cursor.at()));
        return skip_block(cursor);
      default:
        return false;
    }
    return cursor.ok();
  }

  bool remember(std::uint8_t byte) noexcept {
    if (byte == kRememberState) {
      if (remembered_ == RowWorkspaceOf<Machine>::kRemembered) return false;
      workspace_.remembered_at(remembered_++) = row_;
    } else {
      if (remembered_ == 0) return false;
      row_ = workspace_.remembered_at(--remembered_);
    }
    return true;
  }

  bool restore(std::uint64_t number, bool initial) noexcept {
    if (initial) return false;
    if (number < Machine::kRegisterCount) row_.registers[number] = workspace_.initial.registers[number];
    return true;
  }

  void set(std::uint64_t number, RegisterHow how, std::int64_t value) noexcept {
    if (number < Machine::kRegisterCount) row_.registers[number] = {value, how};
  }

  static bool skip_block(ByteCursor& cursor) noexcept {
    cursor.skip(cursor.uleb());
    return cursor.ok();
  }

  // Unsigned arithmetic: damaged tables may overflow, and must do so quietly.
  [[nodiscard]] std::int64_t scaled(std::uint64_t factor) const noexcept {
    return static_cast<std::int64_t>(factor * static_cast<std::uint64_t>(description_.data_alignment));
  }
  [[nodiscard]] std::int64_t scaled_signed(std::int64_t factor) const noexcept {
    return scaled(static_cast<std::uint64_t>(factor));
  }

  const CodeModule& module_;
  const FrameDescription& description_;
  std::uint64_t pc_;
  std::uint64_t place_;
  RowWorkspaceOf<Machine>& workspace_;
  RowOf<Machine>& row_;
  unsigned remembered_ = 0;
  bool past_ = false;
};

}  // namespace call_frame_program

template <typename Machine>
bool row_at(const CodeModule& module, const FrameDescription& description, std::uint64_t pc,
            RowWorkspaceOf<Machine>& workspace) noexcept {
  if (description.return_register >= Machine::kRegisterCount) return false;
  workspace.row = RowOf<Machine>{};
  call_frame_program::Program<Machine> program(module, description, pc, workspace);
  if (!program.run(description.initial_begin, description.initial_end, true)) return false;
  workspace.initial = workspace.row;
  if (!program.run(description.begin, description.end, false)) return false;
  return workspace.row.cfa.how != RegisterHow::unspecified;
}

}  // namespace culprit::unwind
