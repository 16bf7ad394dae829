// Keeps the open regions of a thread (docs/algorithms.md 13): a stack of (stack frame, name) that its own
// sampling handler may read at any moment. A change is announced first, and a handler that interrupts it sees
// the regions before or after it, or fewer; entries that a longjmp left behind lie deeper on the stack than
// what runs now and are dropped. Cost: some stores per begin and end.
#include "runtime/recording/regions.hpp"

#include "runtime/modules/modules.hpp"
#include "runtime/recording/region_names.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "unwind/rule.hpp"

#include <atomic>
#include <cstddef>

namespace culprit::runtime {

namespace {

std::atomic<bool> left_open{false};    // a region was left without its end
std::atomic<bool> unmatched{false};    // an end had no beginning
std::atomic<bool> elsewhere{false};    // a region was ended by another call than had begun it
std::atomic<bool> too_deep{false};     // more than Regions::kMax were open
std::atomic<bool> overlapping{false};  // a signal handler changed regions in the middle of a change
std::atomic<std::uint64_t> iterations{0};

void raise(std::atomic<bool>& flag) {
  flag.store(true, std::memory_order_relaxed);
}

/// Orders stores for this thread's own signal handlers.
void fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

bool on_own_stack(const Regions& regions, std::uintptr_t address) {
  return address >= regions.stack_low && address < regions.stack_high;
}

/// One change of the calling thread's regions; none where the thread is not sampled, or is in the middle of
/// one.
class Change {
 public:
  Change() {
    Thread* thread = this_thread();
    if (thread == nullptr) return;
    const auto here = reinterpret_cast<std::uintptr_t>(this);
    const std::uintptr_t other = thread->regions.changing;
    // What lies deeper on the stack was left in the middle, by a longjmp from a signal handler.
    if (other != 0 && (here <= other || !on_own_stack(thread->regions, here))) {
      raise(overlapping);
      return;
    }
    regions_ = &thread->regions;
    regions_->changing = here;
    fence();
  }
  ~Change() {
    if (regions_ == nullptr) return;
    fence();
    ++regions_->changes;
    regions_->changing = 0;
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  [[nodiscard]] Regions* regions() const { return regions_; }

 private:
  Regions* regions_ = nullptr;
};

/// A region that is still open although its call is over, as seen by a call at `now` that begins one.
bool is_stale(const Regions& regions, const OpenRegion& old, const OpenRegion& now) {
  if (!on_own_stack(regions, old.frame) || !on_own_stack(regions, now.frame)) return false;
  if (old.frame != now.frame) return old.frame < now.frame;
  return (old.caller != now.caller && old.caller != 0 && now.caller != 0) || old.name == now.name;
}

/// Takes out one entry; those behind it move up. A handler in the middle of that sees fewer regions.
void take_out(Regions& regions, std::uint32_t entry) {
  const std::uint32_t depth = regions.depth;
  regions.depth = entry;
  fence();
  for (std::uint32_t i = entry; i + 1 < depth; ++i) regions.open[i] = regions.open[i + 1];
  fence();
  regions.depth = depth - 1;
}

void begin(Regions& regions, const OpenRegion& region) {
  for (std::uint32_t i = regions.depth; i-- > 0;) {
    if (!is_stale(regions, regions.open[i], region)) continue;
    take_out(regions, i);
    regions.beyond = 0;
    raise(left_open);
  }
  if (regions.depth == Regions::kMax) {
    ++regions.beyond;
    return raise(too_deep);
  }
  regions.open[regions.depth] = region;
  fence();
  ++regions.depth;
}

/// `frame`: 0 where it is not known.
void end(Regions& regions, const char* name, std::uintptr_t frame, AtEndOfRegion at_end) {
  if (regions.beyond > 0) {
    --regions.beyond;
    return;
  }
  std::uint32_t entry = regions.depth;
  if (name == nullptr) {
    entry = regions.depth == 0 ? 0 : regions.depth - 1;
  } else {
    const RegionName wanted = region_name(name);
    while (entry > 0 && regions.open[entry - 1].name != wanted) --entry;
    entry = entry == 0 ? regions.depth : entry - 1;
  }
  if (entry >= regions.depth) return raise(unmatched);
  if (frame != 0 && regions.open[entry].frame != frame) raise(elsewhere);
  const bool own = on_own_stack(regions, regions.open[entry].frame);
  // What was begun inside of it ends with it; regions of other stacks only lie in between.
  for (std::uint32_t i = regions.depth; i-- > entry + 1;) {
    if (on_own_stack(regions, regions.open[i].frame) != own) continue;
    take_out(regions, i);
    raise(left_open);
  }
  // Where another function ends it, that which began it may be gone.
  const bool here = frame == 0 || regions.open[entry].frame == frame;
  if (here && regions.open[entry].since_ns != 0) at_end(regions.open[entry].since_ns);
  take_out(regions, entry);
}

void note_if(const std::atomic<bool>& flag, const char* text) {
  if (flag.load(std::memory_order_relaxed)) file.note(text);
}

}  // namespace

const OpenRegion* region_at(const Regions& regions, const RegionPlace& place, std::uint32_t& next) {
  for (; next < regions.depth; ++next) {
    const OpenRegion& region = regions.open[next];
    if (region.frame < place.low || region.frame >= place.high) continue;
    if (region.caller != 0 && place.return_to != 0 && region.caller != place.return_to) continue;
    ++next;
    return &region;
  }
  return nullptr;
}

void reset_regions(Regions& regions, std::uintptr_t stack_low, std::uintptr_t stack_high) {
  regions.depth = 0;
  regions.beyond = 0;
  regions.changing = 0;
  ++regions.changes;
  regions.stack_low = stack_low;
  regions.stack_high = stack_high;
}

void note_regions() {
  if (!file.open()) return;
  file.set_iterations(iterations.load(std::memory_order_relaxed));
  note_if(left_open,
          "regions were left without culprit_region_end (a return, an exception or a longjmp went past it)");
  note_if(unmatched, "culprit_region_end was called where no region of that name was open");
  note_if(
      elsewhere,
      "regions were ended by another function than had begun them: they are shown only while the one that "
      "had begun them runs");
  note_if(too_deep, "more than 64 regions were open at once: the innermost are not shown");
  note_if(overlapping, "a signal handler's regions are missing where it interrupted the change of another");
  if (region_names_full())
    file.note("more than 255 names of regions: the others are shown as <further regions>");
}

void restart_regions_after_fork() {
  forget_region_modules();
  iterations.store(0, std::memory_order_relaxed);
}

void begin_region(const char* name, const OpenRegion& region) {
  const Change change;
  if (change.regions() == nullptr) return;
  OpenRegion named = region;
  named.name = region_name(name);
  begin(*change.regions(), named);
}

void end_region(const char* name, std::uintptr_t frame, AtEndOfRegion at_end) {
  const Change change;
  if (change.regions() != nullptr) end(*change.regions(), name, frame, at_end);
}

void count_iteration() {
  file.set_iterations(iterations.fetch_add(1, std::memory_order_relaxed) + 1);
}

namespace {

/// How the frame at a return address ends: few wrappers call, each from few places.
struct Known {
  std::atomic<std::uintptr_t> address;
  std::atomic<std::uint32_t> rule;  ///< form << 24 | offset of the frame's end
};
constexpr std::size_t kKnown = 16;
constexpr unsigned kFormShift = 24;
constexpr std::uint32_t kOffsetMask = (1U << kFormShift) - 1;

Known known[kKnown];

std::uint32_t packed(const unwind::Rule& rule) {
  const auto offset = static_cast<std::uint32_t>(rule.cfa_offset);
  const bool plain = rule.form == unwind::RuleForm::sp_frame || rule.form == unwind::RuleForm::bp_frame;
  if (!plain || offset > kOffsetMask) return 0;  // the caller's own end: form sp_frame, offset 0
  return static_cast<std::uint32_t>(rule.form) << kFormShift | offset;
}

std::uint32_t compile(std::uintptr_t address) {
  LoadedModule loaded;
  if (!find_loaded(address, loaded)) return 0;
  const unwind::CodeModule module{.begin = loaded.begin,
                                  .end = loaded.end,
                                  .bias = loaded.bias,
                                  .eh_frame_hdr = loaded.eh_frame_hdr,
                                  .index = 0,
                                  .own = false};
  unwind::RowWorkspace workspace;
  return packed(unwind::compile_rule(module, address - 1, workspace));
}

std::uint32_t rule_at(std::uintptr_t address) {
  for (Known& entry : known) {
    std::uintptr_t there = entry.address.load(std::memory_order_acquire);
    if (there == address) return entry.rule.load(std::memory_order_relaxed);
    if (there != 0) continue;
    const std::uint32_t rule = compile(address);
    // The rule first: an address that is found has its rule. Another thread's rule for another address may
    // get here instead, whereupon this entry stays empty for now.
    std::uint32_t none = 0;
    if (rule != 0 && entry.rule.compare_exchange_strong(none, rule, std::memory_order_acq_rel))
      entry.address.store(address, std::memory_order_release);
    return rule;
  }
  return compile(address);
}

}  // namespace

std::uintptr_t frame_outside(const void* frame, const void* return_address) {
  constexpr std::uintptr_t kSavedAndReturn = 2 * sizeof(std::uintptr_t);
  const auto base = reinterpret_cast<std::uintptr_t>(frame);
  const std::uint32_t rule = rule_at(reinterpret_cast<std::uintptr_t>(return_address));
  const bool from_base = rule >> kFormShift == static_cast<std::uint32_t>(unwind::RuleForm::bp_frame);
  const std::uintptr_t start =
      from_base ? *static_cast<const std::uintptr_t*>(frame) : base + kSavedAndReturn;
  return start + (rule & kOffsetMask);
}

}  // namespace culprit::runtime
