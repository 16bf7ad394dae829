// Finds where a function without call-frame information will find its return address: decodes its
// instructions from the pc to the return and keeps account of sp, x29 and x30 only, first past conditional
// branches, then along the forward ones. PLT stubs and linkers' veneers are the shortest of these ways: they
// jump on and touch none of the three. At most 400 instructions, some µs; the rule cache does not keep the
// result, since it depends on the stack.
#include "unwind/way_out.hpp"

#include "machine/aarch64/flow.hpp"
#include "unwind/aarch64/frame_change.hpp"
#include "unwind/byte_cursor.hpp"
#include "unwind/code_bytes.hpp"

namespace culprit::unwind {

namespace {

using aarch64::FrameChange;
using machine::aarch64::Flow;

constexpr int kMaxInstructions = 400;
constexpr int kSize = 4;

class Course {
 public:
  Course(const WayStart& from, StackBounds& bounds, WayOut& way) noexcept
      : bounds_(bounds), way_(way), floor_(bounds.floor(from.sp)), start_(from.sp), sp_(from.sp) {
    way = WayOut{};
    frame_ = {.value = from.bp, .state = State::first};
    link_ = {.value = 0, .state = from.exact ? State::first : State::unknown};
    first_frame_ = from.bp;
  }

  /// False: sp is no longer known.
  bool pass(const FrameChange& change) noexcept {
    switch (change.kind) {
      case FrameChange::Kind::none:
        return true;
      case FrameChange::Kind::set:
        return set(change);
      case FrameChange::Kind::memory:
        return change.base == FrameChange::kNone ? !touches(change) : access(change);
      case FrameChange::Kind::spoil:
        tracked(change.reg).state = State::unknown;
        return true;
      default:
        return false;
    }
  }

  /// A call is over: the callee returned by the link register, and left the others as they were.
  void call() noexcept { link_.state = State::unknown; }

  /// The function is left here, by a return or a jump to a function that will return for it.
  bool leave() noexcept {
    if (link_.state == State::unknown || frame_.state == State::unknown || frame_.state == State::computed)
      return false;
    way_.return_slot = link_.state == State::loaded ? link_.slot : 0;
    way_.bp_slot = frame_.state == State::loaded ? frame_.slot : 0;
    way_.cfa = sp_;
    return sp_ >= start_ && sp_ % 16 == 0 && (sp_ == start_ || bounds_.below_end(sp_ - 8));
  }

 private:
  enum class State : std::uint8_t {
    first,     ///< as it was where the way began
    loaded,    ///< from `slot`
    computed,  ///< x29 was set to a place in this frame
    unknown,
  };
  struct Tracked {
    std::uint64_t value = 0, slot = 0;
    std::uint64_t saved = 0;  ///< where the way itself stored what it began with
    State state = State::first;
  };

  static constexpr std::uint8_t kStackPointer = 31, kLink = 30, kFrame = 29;

  Tracked& tracked(std::uint8_t reg) noexcept { return reg == kLink ? link_ : frame_; }

  static bool is_tracked(std::uint8_t reg) noexcept { return reg == kLink || reg == kFrame; }

  static bool touches(const FrameChange& change) noexcept {
    return change.loads && (is_tracked(change.reg) || is_tracked(change.second));
  }

  /// False: x29 is needed, and not known.
  bool base_of(std::uint8_t base, std::uint64_t& value) noexcept {
    value = base == kStackPointer ? sp_ : frame_.value;
    if (base == kStackPointer) return true;
    if (frame_.state == State::first) way_.uses_bp = true;
    if (frame_.state == State::loaded) way_.uses_loads = true;
    return frame_.state != State::unknown;
  }

  bool set(const FrameChange& change) noexcept {
    std::uint64_t value = 0;
    if (!base_of(change.base, value)) return false;
    value += static_cast<std::uint64_t>(change.number);
    if (change.reg == kStackPointer) {
      sp_ = value;
      return sp_ == start_ || sp_ < start_ || bounds_.below_end(sp_ - 8);
    }
    if (change.reg == kLink) {
      link_.state = State::unknown;
    } else {
      frame_.value = value;
      frame_.state = State::computed;
    }
    return true;
  }

  bool access(const FrameChange& change) noexcept {
    if (change.base != kStackPointer && change.base != kFrame) {
      if (touches(change)) return false;
      return change.base != kLink || change.writeback == 0;
    }
    std::uint64_t base = 0;
    const bool matters = change.writeback != 0 || is_tracked(change.reg) || is_tracked(change.second);
    if (!matters) return true;
    if (!base_of(change.base, base)) return false;
    const std::uint64_t slot = base + static_cast<std::uint64_t>(change.number);
    if (!move(change, change.reg, slot) || !move(change, change.second, slot + 8)) return false;
    if (change.writeback == 0) return true;
    const std::uint64_t after = base + static_cast<std::uint64_t>(change.writeback);
    if (change.base == kStackPointer) {
      sp_ = after;
    } else {
      frame_.value = after;
    }
    return true;
  }

  bool move(const FrameChange& change, std::uint8_t reg, std::uint64_t slot) noexcept {
    if (!is_tracked(reg)) return true;
    Tracked& to = tracked(reg);
    if (!change.loads) {
      if (to.state == State::first) to.saved = slot;
      return true;
    }
    if (to.saved != 0 && slot == to.saved) {
      to.state = State::first;
      if (reg == kFrame) to.value = first_frame_;
      return true;
    }
    // What lies below where the way begins is still to be written.
    if (slot < start_ || slot % 8 != 0 || !bounds_.readable(slot, floor_)) return false;
    to.value = load_as<std::uint64_t>(slot);
    to.slot = slot;
    to.state = State::loaded;
    return true;
  }

  StackBounds& bounds_;
  WayOut& way_;
  std::uint64_t floor_, start_, sp_;
  std::uint64_t first_frame_ = 0;
  Tracked frame_, link_;
};

}  // namespace

bool find_way_out(const WayStart& from, StackBounds& bounds, bool take_branches, WayOut& way) noexcept {
  using Kind = Flow::Kind;
  if (from.pc % kSize != 0) return false;
  Course course(from, bounds, way);
  CodeBytes code(from.module, from.pc);
  for (int count = 0; count < kMaxInstructions; ++count) {
    if (code.at(0) < 0 || code.at(kSize - 1) < 0) return false;
    const auto word = static_cast<std::uint32_t>(code.number(0, kSize));
    if (word == aarch64::kPltHead) return course.leave();  // the resolver takes off what it pushes
    const Flow flow = machine::aarch64::flow_of(word);
    const std::uint64_t target = code.address() + static_cast<std::uint64_t>(flow.distance);
    std::uint64_t next = code.address() + kSize;
    switch (flow.kind) {
      case Kind::ret:
      case Kind::computed:
        return course.leave();
      case Kind::trap:
        return false;
      case Kind::call:
        course.call();
        break;
      case Kind::jump:
        next = target;
        break;
      case Kind::branch:
        if (take_branches && target > next) next = target;
        break;
      default:
        if (!course.pass(aarch64::frame_change_of(word))) return false;
    }
    code.move_to(next);
  }
  return false;
}

}  // namespace culprit::unwind
