#pragma once

#include "unwind/code_bytes.hpp"
#include "unwind/rule.hpp"

#include <cstdint>

namespace culprit::unwind {

/// A thread's cache of rules by code address, two to a cache line, and of the modules that they belong to.
/// Lives in zeroed memory; forgets everything in constant time by changing the generation that tags carry.
/// It begins in half a page: a thread that only waits needs a dozen rules, which would be spread over as many
/// pages.
class RuleCache {
 public:
  /// Forgets all rules and modules.
  void clear() noexcept;

  /// A thread with few rules and modules touches what lies before the one, and from there to the end of rules
  /// the other two.
  struct Few {
    const void* modules_end;
    const void* rules_begin;
    const void* rules_end;
  };
  [[nodiscard]] Few few() const noexcept {
    return {.modules_end = modules_ + kFewModules,
            .rules_begin = &workspace_.remembered[RowWorkspace::kRemembered - 1],
            .rules_end = sets_ + (std::size_t{1} << kFewBits)};
  }

  /// The rule for `pc`, compiled now if it was not cached. The reference holds until the next call.
  const Rule& rule_at(FindModule find, void* context, std::uint64_t pc) noexcept {
    const std::uint64_t tag = pc | tag_bits_;
    const Set& set = sets_[index_of(pc)];
    if (set.ways[0].tag == tag) [[likely]]
      return set.ways[0].rule;
    if (set.ways[1].tag == tag) return set.ways[1].rule;
    return compile(find, context, pc);
  }

  /// The module of a rule; not for Rule::kNoModule.
  [[nodiscard]] const CodeModule& module(std::uint8_t number) const noexcept {
    return modules_[number].module;
  }

  /// Working memory for interpreting a row again.
  RowWorkspace& workspace() noexcept { return workspace_; }

 private:
  static constexpr unsigned kAddressBits = 48;
  static constexpr unsigned kSetBits = 10;  // 2 × 1024 rules in 64 KiB
  static constexpr unsigned kFewBits = 5;   // 2 × 32 in half a page
  static constexpr unsigned kFewRules = 1U << kFewBits;
  static constexpr unsigned kModules = 192;
  static constexpr unsigned kFewModules = 4;  // the program, the C library, the runtime, one more

  struct Entry {
    std::uint64_t tag;
    Rule rule;
  };
  struct alignas(64) Set {
    Entry ways[2];
  };
  static_assert(sizeof(Set) == 64, "two rules fill a cache line");
  struct alignas(64) KnownModule {
    CodeModule module;
  };

  [[nodiscard]] std::uint64_t index_of(std::uint64_t pc) const noexcept {
    return (pc * 0x9e3779b97f4a7c15U) >> shift_;
  }

  void forget_rules() noexcept;
  const Rule& compile(FindModule find, void* context, std::uint64_t pc) noexcept;
  std::uint8_t remember_module(const CodeModule& module) noexcept;

  std::uint64_t tag_bits_;  // the generation, above the bits of an address
  unsigned shift_;          // leaves the bits of a set's index
  unsigned compiled_;       // rules since the last clear()
  unsigned module_count_;
  Rule unknown_;  // the answer for code outside all modules
  KnownModule modules_[kModules];
  RowWorkspace workspace_;
  Set sets_[std::uint64_t{1} << kSetBits];
};

}  // namespace culprit::unwind
