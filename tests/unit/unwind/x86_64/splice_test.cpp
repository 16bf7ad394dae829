#include "fake_stack.hpp"
#include "unwind/known_walk.hpp"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace splice_test {

// A made-up machine calls and returns at random through functions with frames of every shape, some of which
// use rbp and rbx for themselves. After every move the spliced walk must equal the fresh walk, and both the
// machine's own record.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;

namespace {

enum Shape : std::uint8_t {
  kLocals,
  kFramePointer,
  kSavesBoth,
  kBaseRegister,
  kSavesBp,
  kUndescribed,
  kShapes
};

constexpr std::uint64_t kRoot = 0x100;
constexpr std::uint64_t kTrampoline = 0x180;
constexpr std::uint64_t kFunctions = 0x200;
constexpr std::uint64_t kFunctionSize = 0x40;
constexpr std::uint64_t kBody = 4;  // the frame is complete from here on
constexpr unsigned kCopies = 3;     // of each shape

void add_functions(FakeModule& module) {
  const Bytes bodies[kShapes] = {
      Cfi{}.advance(kBody).def_cfa_offset(8 + 5 * 8).bytes,
      Cfi{}.advance(kBody).def_cfa(6, 16).offset(6, 2).bytes,
      Cfi{}.advance(kBody).def_cfa_offset(8 + 4 * 8).offset(6, 2).offset(3, 3).bytes,
      Cfi{}.advance(kBody).def_cfa(3, 16).offset(3, 2).bytes,
      Cfi{}.advance(kBody).def_cfa_offset(8 + 2 * 8).offset(6, 3).bytes,
      {},
  };
  module.add(kRoot, 0x40, Cfi{}.undefined(16).bytes);
  FakeModule::Common signal;
  signal.augmentation = "zRS";
  signal.initial = Cfi{}
                       .cfa_expression(breg(7, 16) + Bytes{0x06})
                       .expression(16, breg(7, 24))
                       .expression(6, breg(7, 0))
                       .expression(3, breg(7, 8))
                       .bytes;
  module.add(kTrampoline, 0x40, {}, signal);
  for (unsigned i = 0; i < kShapes * kCopies; ++i) {
    const std::uint64_t begin = kFunctions + i * kFunctionSize;
    for (std::uint64_t site = kBody + 8; site < kFunctionSize; ++site) module.code(begin + site - 5, {0xe8});
    if (i % kShapes != kUndescribed) module.add(begin, kFunctionSize, bodies[i % kShapes]);
  }
  module.finish();
}

class Machine {
 public:
  explicit Machine(FakeModule& module, std::uint64_t words = FakeStack::kWords)
      : stack(words), module_(module), sp_(stack.at(words - 8)), pc_(module.at(kRoot + 9)) {}

  FakeStack stack;

  void call(unsigned function, unsigned room) {
    if (sp_ < stack.at(600)) return;
    const Activation caller{sp_, bp_, bx_, pc_, false};
    activations_.push_back(caller);
    push(pc_);
    enter(function % (kShapes * kCopies), room);
  }

  void interrupt(unsigned function, unsigned room) {
    if (sp_ < stack.at(700)) return;
    activations_.push_back({sp_, bp_, bx_, pc_, true});
    const std::uint64_t interrupted_sp = sp_;
    sp_ -= 128 + 32;  // beyond the red zone
    stack.word(sp_ + 0) = bp_;
    stack.word(sp_ + 8) = bx_;
    stack.word(sp_ + 16) = interrupted_sp;
    stack.word(sp_ + 24) = pc_;
    push(module_.at(kTrampoline + 1));
    enter(function % (kShapes * kCopies), room);
  }

  void leave() {
    if (activations_.empty()) return;
    const Activation& caller = activations_.back();
    sp_ = caller.sp;
    bp_ = caller.bp;
    bx_ = caller.bx;
    pc_ = caller.pc;
    activations_.pop_back();
  }

  // Within a body; a return address must keep following a call.
  void move(unsigned by) {
    if (activations_.empty()) return;
    const std::uint64_t offset = (pc_ - module_.at(kFunctions)) % kFunctionSize;
    pc_ += kBody + 8 + by % (kFunctionSize - kBody - 8) - offset;
  }

  [[nodiscard]] Registers registers() const { return {.pc = pc_, .sp = sp_, .bp = bp_, .bx = bx_}; }

  [[nodiscard]] std::vector<std::uint64_t> record() const {
    std::vector<std::uint64_t> result{pc_};
    for (auto caller = activations_.rbegin(); caller != activations_.rend(); ++caller) {
      if (caller->interrupted) result.push_back(module_.at(kTrampoline + 1));
      result.push_back(caller->pc);
    }
    return result;
  }

 private:
  struct Activation {
    std::uint64_t sp, bp, bx, pc;
    bool interrupted;
  };

  void push(std::uint64_t value) {
    sp_ -= 8;
    stack.word(sp_) = value;
  }

  void enter(unsigned function, unsigned room) {
    switch (function % kShapes) {
      case kLocals:
        sp_ -= 5 * 8;  // what lies there stays as it was: stale frames
        break;
      case kFramePointer:
      case kUndescribed:
        push(bp_);
        bp_ = sp_;
        sp_ -= room % 16 * 8;
        break;
      case kSavesBoth:
        push(bp_);
        push(bx_);
        sp_ -= 2 * 8;
        bp_ = room % 3 == 0 ? stack.at(room) : room;
        bx_ = room % 3 == 1 ? stack.at(room) : room;
        break;
      case kBaseRegister:
        push(bx_);
        bx_ = sp_;
        sp_ -= room % 16 * 8;
        break;
      default:
        sp_ -= 8;
        push(bp_);
        bp_ = room;
        break;
    }
    pc_ = module_.at(kFunctions + function * kFunctionSize + kBody + 8);
  }

  FakeModule& module_;
  std::uint64_t sp_, bp_ = 0, bx_ = 0, pc_;
  std::vector<Activation> activations_;
};

/// The frames of a walk's path, without its gap.
std::vector<Frame> path_of(const Walk& walk) {
  std::vector<Frame> path;
  for (std::size_t i = 0; i < walk.depth; ++i) {
    if (!walk.gap.holds(i)) path.push_back(walk.frames[i]);
  }
  return path;
}

/// What a walk must not depend on the way it was found.
bool same(const Walk& a, const Walk& b) {
  const std::vector<Frame> frames_a = path_of(a), frames_b = path_of(b);
  if (frames_a.size() != frames_b.size() || a.end != b.end || a.gap.frames != b.gap.frames) return false;
  for (std::size_t i = 0; i < frames_a.size(); ++i) {
    const Frame& x = frames_a[i];
    const Frame& y = frames_b[i];
    if (x.pc != y.pc || x.cfa != y.cfa || x.offset != y.offset || x.module != y.module ||
        x.origin != y.origin || x.own != y.own || x.bridged != y.bridged)
      return false;
  }
  return true;
}

/// A walk that was kept, and what it found.
struct Kept {
  KnownWalk known{};
  std::vector<Frame> frames;
  Walk found;

  void keep(const Walker& walker, const Registers& start, const Walk& walk) {
    known.keep(walker, start);
    frames.assign(walk.frames, walk.frames + walk.depth);
    found = walk;
    found.frames = frames.data();
  }
};

// Mostly few functions and few sizes, so that paths come back that only look the same.
void make_move(Machine& machine, std::mt19937_64& random) {
  // A frame that nothing describes may end the walk there, and a partial walk is not spliced to: few of them.
  const unsigned shape =
      random() % 128 == 0 ? unsigned{kUndescribed} : static_cast<unsigned>(random() % kUndescribed);
  const auto function = static_cast<unsigned>(shape + (random() % 4 == 0 ? random() % kCopies * kShapes : 0));
  // As large as other frames are, so that frames come to lie over stale ones and only a saved register
  // differs.
  const auto room = static_cast<unsigned>(random() % 4 * 3);
  const std::uint64_t kind = random() % 16;
  if (kind < 7) return machine.call(function, room);
  if (kind < 8) return machine.interrupt(function, room);
  if (kind < 10) return machine.move(function);
  return machine.leave();
}

}  // namespace

TEST_CASE("splice: every walk equals a fresh one and what really happened") {
  FakeModule module;
  add_functions(module);
  std::size_t reused = 0, all = 0;
  CHECK(rc::check([&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Machine machine(module);
    const auto splicing = machine.stack.walker(module);
    const auto fresh = machine.stack.walker(module);
    for (int walks = 0; walks < 200; ++walks) {
      for (std::uint64_t moves = random() % 12; moves != 0; --moves) make_move(machine, random);
      const Walk spliced = splicing->walk(machine.registers());
      fresh->invalidate();
      const Walk walked = fresh->walk(machine.registers());
      RC_ASSERT(walked.fresh == walked.depth);
      RC_ASSERT(same(spliced, walked));
      // A frame without rules whose caller has no plausible frame pointer ends the walk; up to there it is
      // right.
      const auto record = machine.record();
      RC_ASSERT(walked.depth <= record.size());
      RC_ASSERT(walked.end == WalkEnd::partial || walked.depth == record.size());
      for (std::size_t i = 0; i < walked.depth; ++i) RC_ASSERT(walked.frames[i].pc == record[i]);
      reused += spliced.depth - spliced.fresh;
      all += spliced.depth;
    }
  }));
  CHECK(reused > all / 4);
}

TEST_CASE("splice: of deep recursions, too") {
  FakeModule module;
  add_functions(module);
  std::size_t reused = 0, all = 0, deep = 0;
  CHECK(rc::check([&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Machine machine(module, 60'000);
    const auto splicing = machine.stack.walker(module);
    const auto fresh = machine.stack.walker(module);
    for (int walks = 0; walks < 40; ++walks) {
      // Far in or out, by one function or by many; or about the innermost frames.
      const std::uint64_t far = random() % 4 == 0 ? random() % 2500 : random() % 40;
      const std::uint64_t way = random() % 8;
      for (std::uint64_t i = 0; i < far; ++i) {
        if (way < 3) machine.call(static_cast<unsigned>(random() % kUndescribed), 3);
        if (way == 3) machine.call(kLocals, 0);
        if (way == 4 || way == 5) machine.leave();
      }
      for (std::uint64_t moves = random() % 12; moves != 0; --moves) {
        if (random() % 2 == 0) machine.move(static_cast<unsigned>(random() % 8));
        machine.call(static_cast<unsigned>(random() % kUndescribed), 6);
        machine.leave();
      }
      const Walk spliced = splicing->walk(machine.registers());
      fresh->invalidate();
      const Walk walked = fresh->walk(machine.registers());
      RC_ASSERT(walked.end == WalkEnd::root);
      RC_ASSERT(same(spliced, walked));
      auto record = machine.record();
      RC_ASSERT(record.size() == pcs(walked).size() + walked.gap.frames);
      if (walked.gap.frames != 0) {
        ++deep;
        const auto begin = record.begin() + static_cast<std::ptrdiff_t>(walked.gap.begin);
        record.erase(begin, begin + static_cast<std::ptrdiff_t>(walked.gap.frames));
      }
      RC_ASSERT(record == pcs(walked));
      reused += spliced.depth - spliced.fresh;
      all += spliced.depth;
    }
  }));
  CHECK(deep > 100);
  CHECK(reused > all / 4);
}

TEST_CASE("known walk: what holds is what a fresh walk finds") {
  FakeModule module;
  add_functions(module);
  std::size_t held = 0, all = 0;
  CHECK(rc::check([&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Machine machine(module);
    const auto splicing = machine.stack.walker(module);
    const auto fresh = machine.stack.walker(module);
    std::map<std::pair<std::uint64_t, std::uint64_t>, Kept> places;
    for (int walks = 0; walks < 200; ++walks) {
      for (std::uint64_t moves = random() % 4; moves != 0; --moves) make_move(machine, random);
      const Registers start = machine.registers();
      Kept& place = places[{start.pc, start.sp}];
      ++all;
      if (!place.known.holds(start)) {
        const Walk walk = splicing->walk(start);
        place.keep(*splicing, start, walk);
        RC_ASSERT(!place.known.holds(start) || walk.end == WalkEnd::root);
        continue;
      }
      fresh->invalidate();
      RC_ASSERT(same(place.found, fresh->walk(start)));
      ++held;
    }
  }));
  CHECK(held > all / 16);
}

TEST_CASE("known walk: slots, stack pointer, program counter and registers that matter are compared") {
  FakeModule module;
  add_functions(module);
  Machine machine(module);
  machine.call(kFramePointer, 3);
  machine.call(kLocals, 0);
  const auto walker = machine.stack.walker(module);
  const Registers start = machine.registers();
  Kept place;
  CHECK(!place.known.holds(start));
  place.keep(*walker, start, walker->walk(start));
  REQUIRE(place.known.holds(start));
  Registers other = start;
  other.bx += 8;  // nobody outside needs rbx
  CHECK(place.known.holds(other));
  other = start;
  other.bp += 8;
  CHECK(!place.known.holds(other));
  other = start;
  ++other.pc;
  CHECK(!place.known.holds(other));
  other = start;
  other.sp += 8;
  CHECK(!place.known.holds(other));
  std::uint64_t& returns_to = machine.stack.word(start.sp + 5 * 8);
  ++returns_to;
  CHECK(!place.known.holds(start));
  --returns_to;
  CHECK(place.known.holds(start));
}

TEST_CASE("known walk: what ends early or is too long is not known") {
  FakeModule module;
  add_functions(module);
  Machine machine(module);
  machine.call(kLocals, 0);
  const auto walker = machine.stack.walker(module);
  Registers start = machine.registers();
  Kept place;
  place.keep(*walker, start, walker->walk(start));
  REQUIRE(place.known.holds(start));
  const Registers nowhere{.pc = 0x10, .sp = start.sp};
  const Walk partial = walker->walk(nowhere);
  REQUIRE(partial.end == WalkEnd::partial);
  place.keep(*walker, nowhere, partial);
  CHECK(!place.known.holds(nowhere));
  CHECK(!place.known.holds(start));  // the place is the other's
  for (std::size_t i = 1; i < KnownWalk::kMaxSlots; ++i) machine.call(kLocals, 0);
  place.keep(*walker, machine.registers(), walker->walk(machine.registers()));
  CHECK(place.known.holds(machine.registers()));
  machine.call(kLocals, 0);
  place.keep(*walker, machine.registers(), walker->walk(machine.registers()));
  CHECK(!place.known.holds(machine.registers()));
}

TEST_CASE("splice: an equal frame over a changed outer stack is not enough") {
  FakeModule module;
  add_functions(module);
  const auto pc = [&module](unsigned function) {
    return module.at(kFunctions + function * kFunctionSize + kBody + 8);
  };
  Machine first(module);
  first.call(kLocals, 0);
  first.call(kLocals, 0);
  first.call(kLocals, 0);
  const auto splicing = first.stack.walker(module);
  const Walk before = splicing->walk(first.registers());
  REQUIRE(before.depth == 4);
  // The outermost function was left, another called in its place, and the rest of the path repeated.
  first.leave();
  first.leave();
  first.leave();
  first.call(kLocals + kShapes, 0);
  first.call(kLocals, 0);
  first.call(kLocals, 0);
  const Walk after = splicing->walk(first.registers());
  CHECK(pcs(after) ==
        std::vector<std::uint64_t>{pc(kLocals), pc(kLocals), pc(kLocals + kShapes), module.at(kRoot + 9)});
  CHECK(after.fresh == 3);
}

TEST_CASE("splice: a register that an outer rule needs is part of what must hold") {
  FakeModule module;
  add_functions(module);
  Machine machine(module);
  machine.call(kFramePointer, 3);
  machine.call(kLocals, 0);
  const auto walker = machine.stack.walker(module);
  Registers registers = machine.registers();
  CHECK(walker->walk(registers).end == WalkEnd::root);
  registers.bp += 8;  // kLocals does not save rbp: its caller's frame would lie elsewhere
  CHECK(walker->walk(registers).fresh > 0);
  CHECK(walker->walk(machine.registers()).end == WalkEnd::root);
  registers = machine.registers();
  registers.bx += 8;  // nobody outside needs rbx
  CHECK(walker->walk(registers).fresh == 0);
}

// The stack above looks unchanged, stale words and all: only the register that a callee saved tells that the
// frame it belongs to now lies elsewhere, and that one function fewer is active.
TEST_CASE("splice: saved registers that outer rules need are verified like return addresses") {
  FakeModule module;
  add_functions(module);
  const auto [outer, inner] =
      GENERATE(std::pair{kFramePointer, kSavesBp}, std::pair{kBaseRegister, kSavesBoth});
  Machine machine(module);
  machine.call(kLocals, 0);
  machine.call(outer, 0);
  machine.call(inner, 5);
  const auto walker = machine.stack.walker(module);
  REQUIRE(walker->walk(machine.registers()).depth == 4);
  for (int i = 0; i < 3; ++i) machine.leave();
  machine.call(outer, 6);  // as much room as kLocals took
  machine.call(inner, 5);
  CHECK(pcs(walker->walk(machine.registers())) == machine.record());
}

}  // namespace splice_test
