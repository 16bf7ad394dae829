#include "report/phrases.hpp"

#include "frame_json.hpp"
#include "text/shorten.hpp"
#include "views/rank_list.hpp"

#include <algorithm>
#include <vector>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

constexpr std::size_t kThreadsNamed = 4;

/// The next procedure above, for "in …".
std::string inside(const database::Experiment& experiment, ContextId context, std::size_t width,
                   bool unicode) {
  for (ContextId at = experiment.contexts[context].parent; at != kNone; at = experiment.contexts[at].parent) {
    const ContextKind kind = experiment.contexts[at].kind;
    if (kind != ContextKind::procedure && kind != ContextKind::inlined) continue;
    return " in " + shorten_name(label(views::frame_of(experiment, experiment.contexts[at])), width, unicode);
  }
  return {};
}

}  // namespace

std::string scope_phrase(const database::Experiment& experiment, ContextId context, bool article,
                         std::size_t width, bool unicode) {
  const views::Frame frame = views::frame_of(experiment, experiment.contexts[context]);
  const std::string where = place(frame);
  const std::string the = article ? "the " : "";
  switch (frame.kind) {
    case ContextKind::root:
      return context == 0 ? "the whole run" : "the whole program";
    case ContextKind::thread_root:
      return "the threads as a whole";
    case ContextKind::partial:
      return "incompletely unwound code";
    case ContextKind::loop:
    case ContextKind::call:
      return the + label(frame) + inside(experiment, context, width, unicode);
    case ContextKind::statement:
      return label(frame) + inside(experiment, context, width, unicode);
    default:
      break;
  }
  const std::string name = shorten_name(label(frame), width, unicode);
  if (!where.empty()) return name + " at " + where;
  const std::string_view module = views::base_name(frame.module);
  return module.empty() ? name : name + " in " + std::string(module);
}

std::string threads_phrase(const database::Experiment& experiment, std::span<const std::uint32_t> locations) {
  std::vector<std::int32_t> ranks;
  bool main_threads = true;
  for (const std::uint32_t location : locations) {
    const database::Location& self = experiment.locations[location];
    main_threads = main_threads && self.thread == 0 && self.rank >= 0;
    ranks.push_back(self.rank);
  }
  if (main_threads) return (ranks.size() == 1 ? "rank " : "ranks ") + views::format_rank_list(ranks);
  std::string text;
  for (std::size_t index = 0; index < std::min(locations.size(), kThreadsNamed); ++index) {
    text += (index == 0 ? "" : ", ") + location_label(experiment, locations[index]);
  }
  if (locations.size() > kThreadsNamed)
    text += " and " + std::to_string(locations.size() - kThreadsNamed) + " more";
  return text;
}

std::string role_phrase(const database::Experiment& experiment, std::uint32_t role) {
  const std::string& name = experiment.roles[role].name;
  return name == "main" ? "main threads" : name + " threads";
}

}  // namespace culprit::viewer
