// Walks the call stack in a signal handler (docs/algorithms.md 14): for each frame the rule of its pc
// (rule_cache.hpp) gives the caller's stack pointer, pc, frame pointer and third register; at each frame it
// is looked whether the rest of the walk is the remembered one (path.hpp). A rule that needs other registers
// starts the walk again with all of them; code without call-frame information is left by a guess that must
// lead to a return address (bridge.cpp). Ends at the thread's first frame, or as partial or too deep. Every
// read is bounded; nothing allocates or locks. Cost: a handful of loads per new frame; 84 to 90 ns for 10 to
// 60 frames with recording, warm (docs/figures.md).
#include "unwind/walker.hpp"

#include "unwind/bridge.hpp"

namespace culprit::unwind {

struct Walker::Position {
  std::uint64_t pc, sp, bp, bx;
  FrameOrigin origin;

  [[nodiscard]] bool exact() const noexcept { return origin != FrameOrigin::call; }
  /// The address whose rule counts: a return address may already belong to the next function.
  [[nodiscard]] std::uint64_t lookup() const noexcept { return exact() ? pc : pc - 1; }
  [[nodiscard]] std::uint64_t base(SlotBase which, std::uint64_t cfa) const noexcept {
    switch (which) {
      case SlotBase::sp:
        return sp;
      case SlotBase::bp:
        return bp;
      case SlotBase::bx:
        return bx;
      default:
        return cfa;
    }
  }
};

struct Walker::Moved {
  Position to;
  Outcome outcome;
};

namespace {

std::uint64_t at_slot(std::uint64_t base, std::int16_t slot) noexcept {
  return base + static_cast<std::uint64_t>(std::int64_t{slot} * 8);
}

std::uint64_t moved_by(std::uint64_t base, std::int64_t offset) noexcept {
  return base + static_cast<std::uint64_t>(offset);
}

using Machine = machine::This;

/// A return address as it was saved, without the signature that it may carry.
std::uint64_t return_address(const Rule& rule, std::uint64_t saved) noexcept {
  return Machine::kSignsReturns && rule.signed_return ? saved & Machine::kAddressMask : saved;
}

/// What depending on a slot base means for the verification of a splice.
std::uint8_t uses_of(SlotBase base) noexcept {
  if (base == SlotBase::bp) return Step::kUsesBp;
  if (base == SlotBase::bx) return Step::kUsesBx;
  return 0;
}

/// Alternate stacks, coroutines and realigned frames that one path goes through.
constexpr unsigned kMostSwitches = 1024;

// The second half of a Frame's fixed part, from `module` on, as one number.
constexpr unsigned kOriginShift = 32;
constexpr std::uint64_t kOwn = std::uint64_t{1} << 40U;
static_assert(offsetof(Frame, origin) == offsetof(Frame, module) + 4 && sizeof(FrameOrigin) == 1 &&
              offsetof(Frame, own) == offsetof(Frame, module) + 5 &&
              offsetof(Frame, bridged) == offsetof(Frame, module) + 6 &&
              offsetof(Frame, need) == offsetof(Frame, module) + 7);

}  // namespace

void Walker::reset(FindModule find, void* context, std::uint64_t stack_low,
                   std::uint64_t stack_high) noexcept {
  find_ = find;
  context_ = context;
  invalidated_ = 0;
  all_registers_ = false;
  bounds_.set_thread(stack_low, stack_high);
  rules_.clear();
  path_.clear();
}

WalkEnd Walker::end_of(Outcome outcome) noexcept {
  if (outcome == Outcome::partial) return WalkEnd::partial;
  return outcome == Outcome::too_deep ? WalkEnd::too_deep : WalkEnd::root;
}

Walk Walker::walk(const Registers& start) noexcept {
  if (__atomic_load_n(&invalidated_, __ATOMIC_RELAXED) != 0) [[unlikely]] {
    __atomic_exchange_n(&invalidated_, std::uint32_t{0}, __ATOMIC_ACQUIRE);
    rules_.clear();
    path_.clear();
  }
  Position last;
  std::size_t count = 0;
  Outcome outcome = all_registers_ ? Outcome::needs_all_registers : trace<false>(start, last, count);
  if (outcome == Outcome::needs_all_registers) [[unlikely]] {
    all_registers_ = true;
    outcome = trace<true>(start, last, count);
  }
  const bool spliced = outcome == Outcome::spliced;
  const WalkEnd end = end_of(outcome);
  const std::size_t fresh = path_.remember(steps_, count, {last.pc, last.sp, last.bp, last.bx, last.origin},
                                           spliced, end, bounds_.foreign());
  return {.frames = path_.frames(),
          .depth = path_.depth(),
          .fresh = fresh,
          .end = end,
          .bridged = path_.bridged(),
          .gap = path_.gap()};
}

// The loop keeps the position in scalars: nearly all steps are plain, and cost a handful of loads each.
template <bool kAll>
Walker::Outcome Walker::trace(const Registers& start, Position& last, std::size_t& count) noexcept {
  Position at{start.pc, start.sp, start.bp, start.bx, FrameOrigin::leaf};
  RegisterFile all;
  if constexpr (kAll) all.set_all(start.context);
  bounds_.start();
  const bool inside = bounds_.enter(at.sp);
  path_.start(inside && !bounds_.foreign(), bounds_.floor(at.sp));
  Outcome outcome = Outcome::onward;
  Step* step = steps_.begin();
  const Step* end = steps_.first_end();
  std::size_t thinned = 0;
  unsigned backwards = 0;
  while (outcome == Outcome::onward) {
    if (path_.matches({at.pc, at.sp, at.bp, at.bx, at.origin}) && splices(at, steps_.count(step, thinned))) {
      outcome = Outcome::spliced;
      break;
    }
    if (step == end) [[unlikely]] {
      Step* block = steps_.make_room(thinned);
      if (block == nullptr) {
        outcome = Outcome::too_deep;
        break;
      }
      ++thinned;
      step = block;
      end = block + Steps::kStride;
    }
    const Rule& rule = rules_.rule_at(find_, context_, at.lookup());
    describe(rule, at, *step);
    if (!kAll && rule.form <= RuleForm::bx_frame && inside) [[likely]] {
      outcome = step_plain(rule, at, *step);
    } else {
      const Moved moved =
          inside ? step_slowly(rule, at, *step, kAll ? &all : nullptr) : Moved{at, Outcome::partial};
      // From stack to stack and back again: it would go on for ever.
      if (moved.to.sp <= at.sp && moved.outcome == Outcome::onward && ++backwards == kMostSwitches) {
        outcome = Outcome::partial;
        ++step;
        break;
      }
      at.pc = moved.to.pc;
      at.sp = moved.to.sp;
      at.bp = moved.to.bp;
      at.bx = moved.to.bx;
      at.origin = moved.to.origin;
      outcome = moved.outcome;
    }
    ++step;
    if (outcome == Outcome::onward && at.pc == 0) [[unlikely]]
      outcome = Outcome::root;
  }
  count = steps_.count(step, thinned);
  last = at;
  return outcome;
}

[[gnu::noinline]] bool Walker::splices(Position at, std::size_t steps) noexcept {
  do {
    if (!path_.serves(steps)) return false;
    if (path_.verify(bounds_)) return true;
  } while (path_.matches({at.pc, at.sp, at.bp, at.bx, at.origin}));
  return false;
}

[[gnu::always_inline]] inline void Walker::describe(const Rule& rule, const Position& at,
                                                    Step& step) const noexcept {
  Frame& frame = step.frame;
  std::uint64_t where = Frame::kNoModule;
  std::uint64_t offset = at.lookup();
  if (rule.module != Rule::kNoModule) [[likely]] {
    const CodeModule& module = rules_.module(rule.module);
    offset -= module.bias;
    where = module.index | (module.own ? kOwn : 0);
  }
  where |= static_cast<std::uint64_t>(at.origin) << kOriginShift;
  frame.pc = at.pc;
  frame.cfa = at.sp;
  frame.offset = offset;
  // module, origin, own, bridged and need in one store, as they will be copied in one load.
  __builtin_memcpy(&frame.module, &where, sizeof where);
  frame.sp = at.sp;
  frame.bp = at.bp;
  frame.bx = at.bx;
  frame.checks = 0;
  frame.user = 0;
  step.return_slot = 0;
  step.bp_slot = 0;
  step.bx_slot = 0;
  step.cfa_slot = 0;
  step.uses = 0;
  step.opaque = false;
}

[[gnu::always_inline]] inline Walker::Outcome Walker::step_plain(const Rule& rule, Position& at,
                                                                 Step& step) noexcept {
  std::uint64_t base = at.sp;
  if (rule.form == RuleForm::bp_frame) {
    base = at.bp;
    step.uses = Step::kUsesBp;
  } else if (rule.form == RuleForm::bx_frame) {
    base = at.bx;
    step.uses = Step::kUsesBx;
  }
  const std::uint64_t cfa = moved_by(base, rule.cfa_offset);
  // A caller's frame lies above its callee's; its stack cannot go on where this one ends.
  if (cfa <= at.sp || !bounds_.below_end(cfa - 8)) [[unlikely]]
    return Outcome::partial;
  const std::uint64_t return_slot = Machine::kReturnsByRegister ? at_slot(cfa, rule.return_slot) : cfa - 8;
  const std::uint64_t floor = bounds_.floor(at.sp);
  if (Machine::kReturnsByRegister && return_slot < floor) [[unlikely]]
    return Outcome::partial;
  step.frame.cfa = cfa;
  step.return_slot = return_slot;
  const std::uint64_t bp_slot = at_slot(cfa, rule.saved[0]);
  if (rule.saved[0] != Rule::kUnchanged && bp_slot >= floor) {
    step.bp_slot = bp_slot;
    at.bp = load_as<std::uint64_t>(bp_slot);
  }
  const std::uint64_t bx_slot = at_slot(cfa, rule.saved[1]);
  if (rule.saved[1] != Rule::kUnchanged && bx_slot >= floor) {
    step.bx_slot = bx_slot;
    at.bx = load_as<std::uint64_t>(bx_slot);
  }
  at.pc = return_address(rule, load_as<std::uint64_t>(return_slot));
  at.sp = cfa;
  at.origin = FrameOrigin::call;
  return Outcome::onward;
}

// `all`: null unless all registers are followed.
[[gnu::noinline]] Walker::Moved Walker::step_slowly(const Rule& rule, Position at, Step& step,
                                                    RegisterFile* all) noexcept {
  if (rule.form == RuleForm::root) return {at, Outcome::root};
  if (rule.form == RuleForm::none) {
    if (rule.before_function && !at.exact()) return {at, Outcome::root};
    if (all != nullptr) all->forget_volatile();
    return step_bridge(rule, at, step);
  }
  // A signal frame restores every register: its row says from where. On some processors functions save more
  // than a rule keeps.
  if (rule.form == RuleForm::general ||
      (all != nullptr && (rule.signal_frame || Machine::kReturnsByRegister))) {
    if (all == nullptr) return {at, Outcome::needs_all_registers};
    if (Machine::kReturnsByRegister && rule.signal_frame) return step_interrupted(rule, at, step, *all);
    return step_general(at, step, *all);
  }
  std::uint64_t base = 0;
  switch (rule.cfa_register) {
    case Machine::kStackPointer:
      base = at.sp;
      break;
    case Machine::kFramePointer:
      base = at.bp;
      step.uses |= Step::kUsesBp;
      break;
    case Machine::kThirdRegister:
      base = at.bx;
      step.uses |= Step::kUsesBx;
      break;
    default:
      if (all == nullptr) return {at, Outcome::needs_all_registers};
      if (!all->get(rule.cfa_register, base)) return {at, Outcome::partial};
      step.opaque = true;
  }
  const Moved moved = step_compact(rule, at, step, base);
  if (all != nullptr && moved.outcome == Outcome::onward) follow_others(rule, at, moved.to.sp, *all);
  return moved;
}

Walker::Moved Walker::step_compact(const Rule& rule, Position at, Step& step,
                                   std::uint64_t cfa_base) noexcept {
  const std::uint64_t floor = bounds_.floor(at.sp);
  std::uint64_t cfa = moved_by(cfa_base, rule.cfa_offset);
  if (rule.cfa_loaded) {
    if (!bounds_.readable(cfa, floor)) return {at, Outcome::partial};
    step.cfa_slot = cfa;
    step.cfa_value = load_as<std::uint64_t>(cfa);
    cfa = moved_by(step.cfa_value, rule.cfa_addend);
  }
  const bool may_switch_stacks = rule.cfa_loaded || rule.signal_frame;
  if (Machine::kReturnsByRegister && rule.return_slot == Rule::kUnchanged)
    return step_leaf(rule, at, step, cfa);
  if (cfa <= at.sp && !may_switch_stacks) return {at, Outcome::partial};
  const std::uint64_t return_slot = at_slot(at.base(rule.return_base, cfa), rule.return_slot);
  step.uses |= uses_of(rule.return_base);
  if (!bounds_.readable(return_slot, floor)) return {at, Outcome::partial};
  step.frame.cfa = cfa;
  step.return_slot = return_slot;
  Position to{return_address(rule, load_as<std::uint64_t>(return_slot)), cfa, at.bp, at.bx,
              rule.signal_frame ? FrameOrigin::interrupted : FrameOrigin::call};
  const std::uint64_t base = at.base(rule.saved_base, cfa);
  const std::uint64_t bp_slot = at_slot(base, rule.saved[0]);
  const std::uint64_t bx_slot = at_slot(base, rule.saved[1]);
  if (rule.saved[0] != Rule::kUnchanged && bounds_.readable(bp_slot, floor)) {
    step.bp_slot = bp_slot;
    to.bp = load_as<std::uint64_t>(bp_slot);
  }
  if (rule.saved[1] != Rule::kUnchanged && bounds_.readable(bx_slot, floor)) {
    step.bx_slot = bx_slot;
    to.bx = load_as<std::uint64_t>(bx_slot);
  }
  if (step.bp_slot != 0 || step.bx_slot != 0) step.uses |= uses_of(rule.saved_base);
  if (!bounds_.contains(cfa) && to.pc != 0 && !(may_switch_stacks && bounds_.enter(cfa)))
    return {at, Outcome::partial};
  return {to, Outcome::onward};
}

// Of a function that has not saved its return address, or not yet, or not any more. Only who was interrupted
// can be in one: a call would have overwritten the register. Of a frame that made one, this is said by
// assembly that is described as if it did nothing (libomp's __kmp_invoke_microtask): its code says more.
Walker::Moved Walker::step_leaf(const Rule& rule, Position at, Step& step, std::uint64_t cfa) noexcept {
  const std::uint64_t floor = bounds_.floor(at.sp);
  if (!at.exact()) return step_bridge(rule, at, step);
  if (cfa < at.sp || (!bounds_.contains(cfa) && cfa != at.sp)) return {at, Outcome::partial};
  step.frame.cfa = cfa;
  step.uses |= Step::kUsesBx;
  Position to{return_address(rule, at.bx), cfa, at.bp, at.bx, FrameOrigin::call};
  const std::uint64_t bp_slot = at_slot(at.base(rule.saved_base, cfa), rule.saved[0]);
  if (rule.saved[0] != Rule::kUnchanged && bounds_.readable(bp_slot, floor)) {
    step.bp_slot = bp_slot;
    step.uses |= uses_of(rule.saved_base);
    to.bp = load_as<std::uint64_t>(bp_slot);
  }
  return {to, Outcome::onward};
}

void Walker::follow_others(const Rule& rule, const Position& at, std::uint64_t cfa,
                           RegisterFile& all) noexcept {
  all.forget_volatile();
  const std::uint64_t floor = bounds_.floor(at.sp);
  const std::uint64_t base = at.base(rule.saved_base, cfa);
  for (unsigned i = 2; i < Rule::kSaved; ++i) {
    const std::uint64_t slot = at_slot(base, rule.saved[i]);
    if (rule.saved[i] != Rule::kUnchanged && bounds_.readable(slot, floor))
      all.set(Machine::kSavedRegisters[i], load_as<std::uint64_t>(slot));
  }
}

Walker::Moved Walker::step_general(Position at, Step& step, RegisterFile& all) noexcept {
  RowWorkspace& workspace = rules_.workspace();
  FrameDescription description;
  CodeModule module;
  step.opaque = true;
  if (!find_(context_, at.lookup(), module) || !find_description(module, at.lookup(), description) ||
      !row_at(module, description, at.lookup(), workspace))
    return {at, Outcome::partial};
  all.set(Machine::kStackPointer, at.sp);
  all.set(Machine::kFramePointer, at.bp);
  // A link register says nothing any more of who made a call.
  if (!Machine::kReturnsByRegister || at.exact()) all.set(Machine::kThirdRegister, at.bx);
  all.set(Machine::kProgramCounter, at.pc);
  if (!interpret_row(workspace.row, description, module.end, bounds_, all)) return {at, Outcome::partial};
  Position to = at;
  to.sp = all.values[Machine::kStackPointer];
  to.pc = all.values[Machine::kProgramCounter];
  if (!all.get(Machine::kFramePointer, to.bp)) to.bp = 0;
  if (!all.get(Machine::kThirdRegister, to.bx)) to.bx = 0;
  to.origin = description.signal_frame ? FrameOrigin::interrupted : FrameOrigin::call;
  step.frame.cfa = to.sp;
  if (!bounds_.contains(to.sp) && to.pc != 0 && !bounds_.enter(to.sp)) return {at, Outcome::partial};
  return {to, Outcome::onward};
}

// What no row describes: the kernel's signal frame, known by its code (code_shapes.hpp). Its registers lie
// one behind the other, in the order of their numbers.
Walker::Moved Walker::step_interrupted(const Rule& rule, Position at, Step& step,
                                       RegisterFile& all) noexcept {
  const Moved moved = step_compact(rule, at, step, at.sp);
  if (moved.outcome != Outcome::onward) return moved;
  const std::uint64_t first = at_slot(at.sp, rule.saved[0]) - std::uint64_t{8} * Machine::kFramePointer;
  for (std::uint8_t i = 0; i < Machine::kRegisterCount; ++i)
    all.set(i, load_as<std::uint64_t>(first + std::uint64_t{8} * i));  // what lies farther out was read above
  step.opaque = true;
  return moved;
}

// A walk on trial: by call-frame information only, within the same stack, and leaving nothing behind.
class Walker::Trial final : public OnwardWalk {
 public:
  Trial(Walker& walker, const Position& from) noexcept : walker_(walker), from_(from) {}

  bool reaches_root(std::uint64_t pc, std::uint64_t sp) noexcept override {
    Position at{pc, sp, from_.bp, from_.bx, FrameOrigin::call};
    Step step{};
    for (std::size_t depth = 0; depth < kMaxDepth; ++depth) {
      const Rule rule = walker_.rules_.rule_at(walker_.find_, walker_.context_, at.lookup());
      // The kernel has put a signal's frame there, and the rest is in its context.
      if (rule.form == RuleForm::root || rule.signal_frame) return true;
      if (rule.form == RuleForm::none || rule.form == RuleForm::general || rule.cfa_loaded) return false;
      if (Machine::kReturnsByRegister && rule.return_slot == Rule::kUnchanged)
        return false;  // it made a call
      const std::uint64_t base = at.sp;
      Outcome outcome = Outcome::onward;
      if (rule.form <= RuleForm::bx_frame) {
        outcome = walker_.step_plain(rule, at, step);
      } else {
        const Moved moved = walker_.step_slowly(rule, at, step, nullptr);
        outcome = moved.outcome;
        at = moved.to;
      }
      if (outcome != Outcome::onward || at.sp <= base) return false;
      if (at.pc == 0) return true;
    }
    return true;  // this many frames in a row are none by chance
  }

 private:
  Walker& walker_;
  const Position& from_;
};

Walker::Moved Walker::step_bridge(const Rule& rule, Position at, Step& step) noexcept {
  const bool known = rule.module != Rule::kNoModule;
  const CodeModule module = known ? rules_.module(rule.module) : CodeModule{};
  const BridgeStart start{.module = known ? &module : nullptr,
                          .pc = at.pc,
                          .sp = at.sp,
                          .bp = at.bp,
                          .link = at.bx,
                          .exact = at.exact()};
  Bridge bridge;
  Trial trial(*this, at);
  // A return address outside all modules may be no address at all: nothing to start a search from.
  const bool worth_a_search = known || at.exact();
  if (!bridge_frame(start, find_, context_, bounds_, bridge) &&
      !(worth_a_search && scan_stack(start, find_, context_, bounds_, trial, bridge)))
    return {at, Outcome::partial};
  step.frame.cfa = bridge.cfa;
  step.frame.bridged = true;
  step.uses |= Step::kBridged;
  step.return_slot = bridge.return_slot;
  step.bp_slot = bridge.bp_slot;
  const bool by_register = Machine::kReturnsByRegister && bridge.return_slot == 0;
  const std::uint64_t back = by_register ? at.bx : load_as<std::uint64_t>(bridge.return_slot);
  Position to{back & Machine::kAddressMask, bridge.cfa, at.bp, at.bx, FrameOrigin::call};
  if (by_register) step.uses |= Step::kUsesBx;
  if (Machine::kReturnsByRegister && !by_register) {
    step.bx_slot = bridge.return_slot;
    to.bx = back;
  }
  if (bridge.uses_bp) step.uses |= Step::kUsesBp;
  step.opaque = bridge.opaque;
  if (bridge.bp_slot != 0) to.bp = load_as<std::uint64_t>(bridge.bp_slot);
  return {to, Outcome::onward};
}

}  // namespace culprit::unwind
