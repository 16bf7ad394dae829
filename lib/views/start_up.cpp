#include "views/start_up.hpp"

#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace culprit::views {
namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

constexpr std::array<std::string_view, 8> kNames = {
    "_start",   "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "clone", "clone3",
    "__clone3", "start_thread"};

bool is_start_up_name(const Frame& frame) {
  if (frame.kind != ContextKind::procedure) return false;
  if (std::find(kNames.begin(), kNames.end(), frame.name) == kNames.end()) return false;
  // Programs may have procedures of the same names.
  return frame.name.starts_with('_') || base_name(frame.module).starts_with("libc.so") ||
         base_name(frame.module).starts_with("libc-");
}

bool is_root(ContextKind kind) {
  return kind == ContextKind::root || kind == ContextKind::thread_root;
}

}  // namespace

std::vector<std::uint8_t> flags_with_start_up(const database::Experiment& experiment) {
  const std::vector<database::Context>& contexts = experiment.contexts;
  std::vector<std::uint8_t> flags(contexts.size());
  std::vector<ContextId> procedure(contexts.size(), kNone);
  for (ContextId context = 0; context < contexts.size(); ++context) {
    const database::Context& self = contexts[context];
    flags[context] = self.flags;
    const ContextId outer = self.parent == kNone ? kNone : procedure[self.parent];
    procedure[context] = self.kind == ContextKind::procedure ? context : outer;
    if (self.kind == ContextKind::region) procedure[context] = kNone;  // the program's, also around main
    if (self.kind == ContextKind::procedure) {
      if (!is_start_up_name(frame_of(experiment, self))) continue;
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

}  // namespace culprit::views
