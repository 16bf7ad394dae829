#include "tui/state/workspace.hpp"

#include "commands/run.hpp"
#include "request/command_line.hpp"
#include "text/shorten.hpp"
#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/flat.hpp"
#include "views/rank_list.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <sstream>
#include <utility>

namespace culprit::viewer::tui {

Workspace::Workspace(const views::Source& source, std::string database, bool unicode)
    : passed_over{.fold_calls = true,
                  .statements = true,
                  .start_up = true,
                  .wait_internals = true,
                  .recursion = true,
                  .library = true},
      source_(source),
      database_(std::move(database)),
      unicode_(unicode),
      figures_(std::make_unique<views::Figures>(source)),
      columns_(*figures_, unicode) {
  make_views();
}

void Workspace::make_views() {
  views_[kCallingContext] = std::make_unique<views::CallingContext>(*figures_);
  views_[kCallers] = std::make_unique<views::Callers>(*figures_);
  views_[kFlat] = std::make_unique<views::Flat>(*figures_);
}

void Workspace::select(const std::string& ranks, std::optional<std::uint32_t> role) {
  std::vector<std::uint32_t> locations(experiment().locations.size());
  std::iota(locations.begin(), locations.end(), 0U);
  if (!ranks.empty()) locations = views::locations_of_ranks(experiment(), views::parse_rank_list(ranks));
  if (role)
    std::erase_if(locations, [&](std::uint32_t each) { return experiment().locations[each].role != *role; });
  const bool all = ranks.empty() && !role;
  next_ranks_ = ranks;
  next_role_ = role;
  selecting_ = std::async(std::launch::async, [this, all, chosen_locations = std::move(locations)]() mutable {
    if (all) return std::make_unique<views::Figures>(source_);
    std::vector<std::uint32_t> metrics(source_.experiment().metrics.size());
    std::iota(metrics.begin(), metrics.end(), 0U);
    return std::make_unique<views::Figures>(source_, std::move(chosen_locations), metrics);
  });
}

bool Workspace::finish_select() {
  constexpr std::chrono::milliseconds kPatience{5};
  if (!selecting() || selecting_.wait_for(kPatience) != std::future_status::ready) return false;
  figures_ = selecting_.get();
  ranks_ = next_ranks_;
  role_ = next_role_;
  make_views();
  std::erase_if(marked, [](const NodeRef& each) { return each.view == kCallers; });
  if (chosen && chosen->view == kCallers) chosen.reset();
  columns_.replace_figures(*figures_, role_);
  return true;
}

std::string Workspace::csv_of(std::size_t view) const {
  constexpr std::array<ViewKind, kViews> kKinds = {ViewKind::calling_context, ViewKind::callers,
                                                   ViewKind::flat};
  Invocation invocation;
  invocation.command = Command::view;
  invocation.format = Format::csv;
  invocation.view = kKinds.at(view);
  invocation.metrics = columns_.names();
  invocation.sort = columns_.sort_column().column.title;
  invocation.derive = columns_.definitions();
  invocation.ranks = ranks_;
  if (role_) invocation.role = experiment().roles[*role_].name;
  std::ostringstream text;
  run_view(text, {}, source_, invocation);
  return text.str();
}

std::string Workspace::title_of(const NodeRef& ref) {
  const views::Frame frame = view(ref.view).frame(ref.node);
  std::string title = label(frame);
  if (frame.kind == database::ContextKind::loop && frame.file.empty()) {
    views::NodeId around = view(ref.view).parent(ref.node);
    while (around != database::kNone && !views::is_procedure(view(ref.view).kind(around)))
      around = view(ref.view).parent(around);
    if (around != database::kNone) title += " in " + without_parameters(label(view(ref.view).frame(around)));
  }
  const std::string where = place(frame);
  if (!where.empty() && title.find(where) == std::string::npos) title += "  " + where;
  return title;
}

std::string Workspace::path_of(const NodeRef& ref) {
  const views::View& shown = view(ref.view);
  std::string path;
  for (views::NodeId at = ref.node; at != database::kNone; at = shown.parent(at)) {
    const database::ContextKind kind = shown.kind(at);
    const bool skipped = kind == database::ContextKind::call || kind == database::ContextKind::root ||
                         (shown.flags(at) & database::kStartUp) != 0;
    if (skipped && at != ref.node) continue;
    path.insert(0, without_parameters(label(shown.frame(at))) + (path.empty() ? "" : "/"));
  }
  return path;
}

database::ContextId Workspace::context_of(const NodeRef& ref) {
  if (ref.view == kCallingContext) return ref.node;
  if (ref.view == kFlat) {
    const std::vector<database::ContextId> instances = experiment().flat_instances[ref.node];
    const auto most = std::max_element(instances.begin(), instances.end(), [&](auto a, auto b) {
      return figures().at_context(columns_[0].column, a) < figures().at_context(columns_[0].column, b);
    });
    return most == instances.end() ? database::kNone : *most;
  }
  return database::kNone;
}

}  // namespace culprit::viewer::tui
