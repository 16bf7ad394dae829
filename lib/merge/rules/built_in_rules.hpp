#pragma once

#include <span>

namespace culprit::merge {

/// One file of lib/merge/rules, built into the program.
struct BuiltInRules {
  const char* name;
  const char* text;
};

/// All of them, in the order of their names.
std::span<const BuiltInRules> built_in_rules();

}  // namespace culprit::merge
