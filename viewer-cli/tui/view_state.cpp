#include "tui/view_state.hpp"

#include "tui/panes/source_pane.hpp"
#include "tui/state/state_files.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer::tui {
namespace {

using Json = nlohmann::json;

constexpr const char* kViewEnding = ".view.json";

/// A database that was merged again from another run is another one.
bool is_of(const Json& state, const Workspace& workspace) {
  return state.is_object() && state.value("run_id", "") == workspace.experiment().run.run_id;
}

void restore_tree(const Json& state, Tabs& tabs, Workspace& workspace) {
  const Json nodes = state.value("nodes", Json::object());
  for (std::size_t view = 0; view < Workspace::kViews; ++view) {
    const std::string id = nodes.value(std::string(workspace.view(view).name()), "");
    if (id.empty()) continue;
    if (const auto node = workspace.view(view).find(id)) tabs.tree(view).reveal(*node);
  }
}

void restore(const Json& state, Tabs& tabs, Workspace& workspace) {
  const auto columns = state.value("columns", std::vector<std::string>{});
  if (!columns.empty()) workspace.columns().show(columns);
  const Json sort = state.value("sort", Json());
  workspace.columns().sort_by(sort.is_number_unsigned() ? sort.get<std::size_t>() : 0);
  workspace.percent = state.value("percent", false);
  workspace.least_percent = state.value("least_percent", 0.0);
  workspace.passed_over.statements = !state.value("source_lines", false);
  workspace.passed_over.wait_internals = !state.value("inside_waits", false);
  workspace.passed_over.start_up = !state.value("start_up", false);
  workspace.passed_over.recursion = !state.value("recursion", false);
  workspace.passed_over.library = !state.value("library", false);
  PathPrefixes prefixes;
  for (const Json& each : state.value("prefixes", Json::array()))
    prefixes.emplace_back(each.at(0).get<std::string>(), each.at(1).get<std::string>());
  tabs.source().set_prefixes(std::move(prefixes));
  restore_tree(state, tabs, workspace);
}

}  // namespace

void restore_view(Tabs& tabs, Workspace& workspace) {
  const auto file = state_file(workspace.database(), kViewEnding);
  const auto text = file ? read_whole(*file) : std::nullopt;
  if (!text) return;
  const Json state = Json::parse(*text, nullptr, false);
  try {
    if (is_of(state, workspace)) restore(state, tabs, workspace);
  } catch (const Json::exception&) {
    return;  // somebody else's idea of the file
  }
}

void save_view(Tabs& tabs, const Workspace& workspace) {
  const auto file = state_file(workspace.database(), kViewEnding);
  if (!file) return;
  Json nodes = Json::object();
  for (std::size_t view = 0; view < Workspace::kViews; ++view) {
    const TreePane& tree = tabs.tree(view);
    if (const auto at = tree.current()) nodes[tree.view_name()] = tree.id_of(at->node);
  }
  Json prefixes = Json::array();
  for (const auto& [old_prefix, new_prefix] : tabs.source().prefixes())
    prefixes.push_back(Json::array({old_prefix, new_prefix}));
  const Json state = {{"run_id", workspace.experiment().run.run_id},
                      {"columns", workspace.columns().names()},
                      {"sort", workspace.columns().sort()},
                      {"percent", workspace.percent},
                      {"least_percent", workspace.least_percent},
                      {"source_lines", !workspace.passed_over.statements},
                      {"inside_waits", !workspace.passed_over.wait_internals},
                      {"start_up", !workspace.passed_over.start_up},
                      {"recursion", !workspace.passed_over.recursion},
                      {"library", !workspace.passed_over.library},
                      {"prefixes", prefixes},
                      {"nodes", nodes}};
  write_whole(*file, state.dump(2, ' ', false, Json::error_handler_t::replace) + '\n', workspace.database());
}

}  // namespace culprit::viewer::tui
