// A thread's cache of rules by code address (docs/algorithms.md 14): 1024 sets of two, one cache line each,
// in which the newer takes the first place. A generation in the tags forgets everything at once.
#include "unwind/rule_cache.hpp"

#include "unwind/code_shapes.hpp"

namespace culprit::unwind {

void RuleCache::clear() noexcept {
  module_count_ = 0;
  if (shift_ == 0) shift_ = 64 - kFewBits;
  forget_rules();
}

void RuleCache::forget_rules() noexcept {
  compiled_ = 0;
  tag_bits_ += std::uint64_t{1} << kAddressBits;
  if (tag_bits_ != 0) return;
  // All generations were used: what is tagged with an early one must not come back to life.
  for (Set& set : sets_) set.ways[0].tag = set.ways[1].tag = 0;
  tag_bits_ = std::uint64_t{1} << kAddressBits;
}

std::uint8_t RuleCache::remember_module(const CodeModule& module) noexcept {
  for (unsigned i = 0; i < module_count_; ++i) {
    const CodeModule& known = modules_[i].module;
    if (known.index == module.index && known.begin == module.begin && known.end == module.end &&
        known.bias == module.bias && known.eh_frame_hdr == module.eh_frame_hdr && known.own == module.own)
      return static_cast<std::uint8_t>(i);
  }
  if (module_count_ == kModules) clear();
  modules_[module_count_].module = module;
  return static_cast<std::uint8_t>(module_count_++);
}

const Rule& RuleCache::compile(FindModule find, void* context, std::uint64_t pc) noexcept {
  CodeModule module;
  if (pc >> kAddressBits != 0 || !find(context, pc, module)) {
    // Not cached: code may be mapped there before the next invalidate().
    unknown_ = Rule{};
    if (machine::This::kReturnsByRegister && pc >> kAddressBits == 0)
      knows_signal_return(nullptr, pc, unknown_);
    return unknown_;
  }
  Entry entry{.tag = 0, .rule = {}};
  if (!knows_signal_return(&module, pc, entry.rule)) entry.rule = compile_rule(module, pc, workspace_);
  entry.rule.module = remember_module(module);
  if (++compiled_ > kFewRules && shift_ != 64 - kSetBits) {
    shift_ = 64 - kSetBits;
    forget_rules();
  }
  entry.tag = pc | tag_bits_;
  Set& set = sets_[index_of(pc)];
  set.ways[1] = set.ways[0];
  set.ways[0] = entry;
  return set.ways[0].rule;
}

}  // namespace culprit::unwind
