#include "runtime/recording/caller_frame.hpp"

#include "runtime/modules/modules.hpp"
#include "unwind/rule.hpp"

#include <atomic>
#include <cstddef>

namespace culprit::runtime {
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
