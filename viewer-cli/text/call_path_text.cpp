// Call paths for people (ours; docs/algorithms.md 4). Roots, start-up frames, the insides of interpreters and
// call sites are passed over. A procedure that calls itself, directly or from its loops, stands there once,
// as views fold it (views/folding.hpp). ShownPaths numbers paths by what is shown of them, so that figures of
// paths that read the same add up. A line that is too narrow loses code without names first, then loops, then
// outer frames but the first. Cost: the depth of the path; of numbers, each context above is looked at once.
#include "text/call_path_text.hpp"

#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/frame.hpp"
#include "views/joining.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace culprit::viewer {

using database::ContextId;
using database::ContextKind;

namespace {

constexpr std::size_t kNameColumns = 48;
// Interpreters and task systems bring paths of fifty frames: where a path begins and where it ends shows
// most.
constexpr std::size_t kOuter = 3, kInner = 9;

/// Passed over within a path.
bool is_skipped(const database::Contents& experiment, const database::Context& self) {
  return self.kind == ContextKind::call || self.kind == ContextKind::root ||
         (self.flags & database::kStartUp) != 0 ||
         // A program may be linked with the interpreter: its own code lies in the same module.
         (((self.flags & database::kRunTime) != 0 ||
           experiment.strings[self.module] == database::kPythonModule) &&
          views::is_interpreter(views::frame_of(experiment, self)));
}

/// Of a procedure that the same procedure calls, directly or from its loops, the outer one: as views fold
/// them (views/folding.hpp).
std::optional<ContextId> recursive_caller(const database::Contents& experiment, ContextId context) {
  const database::Context& self = experiment.contexts[context];
  if (!views::is_procedure(self.kind) || is_skipped(experiment, self) ||
      (self.flags & database::kFrontier) != 0)
    return std::nullopt;
  ContextId caller = self.parent;
  while (caller != database::kNone && (experiment.contexts[caller].kind == ContextKind::call ||
                                       experiment.contexts[caller].kind == ContextKind::loop))
    caller = experiment.contexts[caller].parent;
  if (caller == database::kNone || experiment.strings[self.name].empty()) return std::nullopt;
  const database::Context& around = experiment.contexts[caller];
  const bool same = views::is_procedure(around.kind) && !is_skipped(experiment, around) &&
                    around.name == self.name && around.module == self.module;
  return same ? std::optional(caller) : std::nullopt;
}

/// What a path shows of a context.
struct ShownFrame {
  ContextId context;
  std::string name;
};

/// What is shown of a path, outermost first.
std::vector<ShownFrame> shown_frames(const database::Contents& experiment, ContextId context, bool unicode) {
  constexpr std::string_view kRecursion = " (recursion)";
  std::vector<ShownFrame> shown;
  for (const ContextId each : views::path_to(experiment, context)) {
    const database::Context& self = experiment.contexts[each];
    if (is_skipped(experiment, self) && each != context) continue;
    if (recursive_caller(experiment, each)) {
      while (!views::is_procedure(experiment.contexts[shown.back().context].kind)) shown.pop_back();
      shown.back().context = each;
      if (!shown.back().name.ends_with(kRecursion)) shown.back().name += kRecursion;
      continue;
    }
    const std::string name = without_parameters(views::label(views::frame_of(experiment, self)));
    shown.push_back({each, shorten_name(name, kNameColumns, unicode)});
  }
  return shown;
}

std::string joined(const std::vector<std::string>& names, bool unicode) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += unicode ? " › " : " > ";
    text += name;
  }
  return text;
}

}  // namespace

std::string path_text(const database::Contents& experiment, ContextId context, const Screen& screen) {
  std::vector<std::string> names;
  for (const ShownFrame& each : shown_frames(experiment, context, screen.unicode))
    names.push_back(keep(each.name));
  if (names.size() > kOuter + kInner + 1) {
    const std::size_t gone = names.size() - kOuter - kInner;
    names.erase(names.begin() + kOuter, names.end() - kInner);
    names.insert(names.begin() + kOuter, keep('(' + counted(gone, "frame") + ')'));
  }
  return joined(names, screen.unicode);
}

std::string path_line(const database::Contents& experiment, ContextId context, std::size_t width,
                      bool unicode) {
  std::vector<ShownFrame> shown = shown_frames(experiment, context, unicode);
  std::vector<std::string> names;
  const auto fits = [&] {
    names.clear();
    for (const ShownFrame& each : shown) names.push_back(each.name);
    return columns(joined(names, unicode)) <= width;
  };
  const auto leave_out = [&](const auto& says_little) {
    for (std::size_t at = 0; !fits() && at + 1 < shown.size();) {
      const bool left_out = says_little(views::frame_of(experiment, experiment.contexts[shown[at].context]));
      if (left_out) shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(at));
      at += left_out ? 0 : 1;
    }
  };
  // A procedure's name says most.
  leave_out(views::is_named_for_module);
  leave_out([](const views::Frame& frame) { return frame.kind == ContextKind::loop; });
  constexpr std::size_t kEnds = 2;
  if (!fits() && shown.size() > kEnds) {
    shown[1].name = unicode ? "…" : "...";
    while (!fits() && shown.size() > kEnds + 1) shown.erase(shown.begin() + 2);
  }
  return shorten_middle(joined(names, unicode), width, unicode);
}

std::uint32_t ShownPaths::numbered(std::uint32_t above, ContextId context) {
  const database::Context& self = experiment_.contexts[context];
  // Of an inlined function these are those of its call, which paths do not show.
  const bool of_call = self.kind == ContextKind::inlined;
  const Step step = {above,
                     self.name,
                     of_call ? 0 : self.file,
                     of_call ? 0 : self.line,
                     self.module,
                     static_cast<std::uint32_t>(self.kind)};
  return numbers_.try_emplace(step, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

std::uint32_t ShownPaths::number(ContextId context) {
  // The context itself is shown, whatever it is; of those above, what is passed over has its parent's number.
  std::vector<ContextId> unknown;
  std::uint32_t number = database::kNone;
  for (ContextId at = experiment_.contexts[context].parent; at != database::kNone;
       at = experiment_.contexts[at].parent) {
    if (const auto known = number_of_.find(at); known != number_of_.end()) {
      number = known->second;
      break;
    }
    unknown.push_back(at);
  }
  for (; !unknown.empty(); unknown.pop_back()) {
    const ContextId at = unknown.back();
    if (const auto caller = recursive_caller(experiment_, at)) {
      number = number_of_.at(*caller);
    } else if (!is_skipped(experiment_, experiment_.contexts[at])) {
      number = numbered(number, at);
    }
    number_of_.emplace(at, number);
  }
  const auto caller = recursive_caller(experiment_, context);
  return caller ? number_of_.at(*caller) : numbered(number, context);
}

ContextId scope_around(const database::Contents& experiment, ContextId context) {
  while (experiment.contexts[context].kind == ContextKind::call ||
         experiment.contexts[context].kind == ContextKind::statement)
    context = experiment.contexts[context].parent;
  return context;
}

ContextId users_scope(const database::Contents& experiment, ContextId context) {
  ContextId scope = context;
  while ((experiment.contexts[scope].flags & database::kRunTime) != 0)
    scope = experiment.contexts[scope].parent;
  scope = scope_around(experiment, scope);
  const ContextKind kind = experiment.contexts[scope].kind;
  const bool root = kind == ContextKind::root || kind == ContextKind::thread_root;
  return root ? scope_around(experiment, context) : scope;
}

}  // namespace culprit::viewer
