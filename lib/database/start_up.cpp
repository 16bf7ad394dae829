#include "database/start_up.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace culprit::database {
namespace {

constexpr std::array<std::string_view, 8> kNames = {
    "_start",   "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "clone", "clone3",
    "__clone3", "start_thread"};

bool is_start_up_name(std::string_view name, std::string_view module) {
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return false;
  // Programs may have procedures of the same names.
  const std::string_view file = module.substr(module.rfind('/') + 1);
  return name.starts_with('_') || file.starts_with("libc.so") || file.starts_with("libc-");
}

bool is_root(ContextKind kind) {
  return kind == ContextKind::root || kind == ContextKind::thread_root;
}

}  // namespace

std::vector<std::uint8_t> flags_with_start_up(const Experiment& experiment) {
  const std::vector<Context>& contexts = experiment.contexts;
  std::vector<std::uint8_t> flags(contexts.size());
  std::vector<ContextId> procedure(contexts.size(), kNone);
  for (ContextId context = 0; context < contexts.size(); ++context) {
    const Context& self = contexts[context];
    flags[context] = self.flags;
    const ContextId outer = self.parent == kNone ? kNone : procedure[self.parent];
    procedure[context] = self.kind == ContextKind::procedure ? context : outer;
    if (self.kind == ContextKind::region) procedure[context] = kNone;  // the program's, also around main
    if (self.kind == ContextKind::procedure) {
      if (!is_start_up_name(experiment.strings[self.name], experiment.strings[self.module])) continue;
      flags[context] |= kStartUp;
      if (outer != kNone && contexts[outer].parent != kNone &&
          is_root(contexts[contexts[outer].parent].kind)) {
        flags[outer] |= kStartUp;
      }
    }
  }
  for (ContextId context = 0; context < contexts.size(); ++context) {
    const ContextId around = procedure[context];
    if (around != kNone && contexts[context].kind != ContextKind::procedure) {
      flags[context] = static_cast<std::uint8_t>(flags[context] | (flags[around] & kStartUp));
    }
  }
  return flags;
}

}  // namespace culprit::database
