// Finds where a function without call-frame information will find its return address: decodes its
// instructions from the pc to the return and keeps account of rsp and rbp only, first past conditional
// branches, then along the forward ones. At most 400 instructions, some 10 µs; the rule cache does not keep
// the result, since it depends on the stack.
#include "unwind/way_out.hpp"

#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/x86_64/instruction.hpp"

namespace culprit::unwind {

namespace {

// Straight-line code between a call and the function's end is rarely longer; decoding it takes some 10 µs.
constexpr int kMaxInstructions = 400;

class Course {
 public:
  Course(std::uint64_t sp, std::uint64_t bp, StackBounds& bounds, WayOut& way) noexcept
      : bounds_(bounds), way_(way), floor_(bounds.floor(sp)), start_(sp), sp_(sp), bp_(bp) {
    way = WayOut{};
  }

  /// False: rsp is no longer known.
  bool pass(const Instruction& next) noexcept {
    using Kind = Instruction::Kind;
    switch (next.kind) {
      case Kind::push:
        sp_ -= 8;
        if (next.reg == kBpNumber && from_start_) saved_ = sp_;
        return true;
      case Kind::pop:
        if (next.reg == kBpNumber && !load_bp(sp_)) return false;
        popped_ = next.reg;
        popped_slot_ = sp_;
        sp_ += 8;
        return true;
      case Kind::adjust:
        sp_ += static_cast<std::uint64_t>(next.number);
        return true;
      case Kind::from_bp:
        return use_bp(next.number);
      case Kind::to_bp:
        bp_ = sp_ + static_cast<std::uint64_t>(next.number);
        bp_known_ = true;
        from_start_ = false;
        return true;
      case Kind::load_bp:
        return load_bp_from(next);
      case Kind::leave:
        if (!use_bp(0) || !load_bp(sp_)) return false;
        sp_ += 8;
        return true;
      case Kind::spoil_bp:
        bp_known_ = false;
        return true;
      default:
        return next.kind != Kind::unknown;
    }
  }

  /// The function is left here; the return address lies at rsp.
  bool leave() noexcept { return leave_at(sp_); }

  /// By a jump through a register: one that took the return address from the stack, or a tail call.
  bool leave_through(std::uint8_t reg) noexcept {
    return reg == popped_ && popped_slot_ == sp_ - 8 ? leave_at(popped_slot_) : leave_at(sp_);
  }

 private:
  static constexpr std::uint8_t kBpNumber = 5;  // hardware number

  bool leave_at(std::uint64_t slot) noexcept {
    way_.return_slot = slot;
    way_.cfa = slot + 8;
    return bp_known_ && slot % 8 == 0 && bounds_.readable(slot, floor_);
  }

  bool use_bp(std::int64_t offset) noexcept {
    if (!bp_known_) return false;
    if (from_start_) way_.uses_bp = true;
    if (loaded_) way_.uses_loads = true;
    sp_ = bp_ + static_cast<std::uint64_t>(offset);
    return bounds_.readable(sp_, floor_);
  }

  bool load_bp_from(const Instruction& next) noexcept {
    std::uint64_t base = sp_;
    if (next.reg != machine::This::kStackPointer) {
      if (!bp_known_) return false;
      base = bp_;
      if (from_start_) way_.uses_bp = true;
    }
    return load_bp(base + static_cast<std::uint64_t>(next.number));
  }

  bool load_bp(std::uint64_t slot) noexcept {
    if (slot == saved_) {
      bp_ = first_bp_;
      bp_known_ = from_start_ = true;
      way_.bp_slot = 0;
      return true;
    }
    // What lies below where the way begins is still to be written.
    if (slot < start_) return false;
    if (slot % 8 != 0 || !bounds_.readable(slot, floor_)) return false;
    bp_ = load_as<std::uint64_t>(slot);
    bp_known_ = true;
    from_start_ = false;
    loaded_ = true;
    way_.bp_slot = slot;
    return true;
  }

  StackBounds& bounds_;
  WayOut& way_;
  std::uint64_t floor_;
  std::uint64_t start_;
  std::uint64_t sp_, bp_;
  std::uint64_t first_bp_ = bp_;
  std::uint64_t saved_ = 0;  // where the way itself pushed the rbp that it began with
  bool bp_known_ = true;
  bool from_start_ = true;  // rbp is still what it was where the way began
  bool loaded_ = false;
  std::uint8_t popped_ = Instruction::kMemory;  // the register that was popped last
  std::uint64_t popped_slot_ = 0;
};

}  // namespace

bool find_way_out(const WayStart& from, StackBounds& bounds, bool take_branches, WayOut& way) noexcept {
  using Kind = Instruction::Kind;
  Course course(from.sp, from.bp, bounds, way);
  CodeBytes code(from.module, from.pc);
  for (int count = 0; count < kMaxInstructions; ++count) {
    const Instruction next = decode_instruction(code);
    switch (next.kind) {
      case Kind::ret:
        return course.leave();
      case Kind::jump_to:
        return course.leave_through(next.reg);
      case Kind::jump:
        code.move_to(next.target);
        break;
      case Kind::branch: {
        const std::uint64_t after = code.address() + static_cast<std::uint64_t>(next.length);
        code.move_to(take_branches && next.target > after ? next.target : after);
        break;
      }
      default:
        if (!course.pass(next)) return false;
        code.move_to(code.address() + static_cast<std::uint64_t>(next.length));
    }
  }
  return false;
}

}  // namespace culprit::unwind
