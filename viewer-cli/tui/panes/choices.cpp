#include "tui/panes/choices.hpp"

#include "findings/phrases.hpp"
#include "text/quantity.hpp"
#include "tui/state/state_files.hpp"
#include "views/derived.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace culprit::viewer::tui {
namespace {

/// What distinguishes columns of one metric; of sums, the beginning of the metric's description.
std::string description_of(const database::Contents& experiment, const std::string& column) {
  const std::size_t colon = column.rfind(':');
  const std::string event = column.substr(0, colon);
  using Statistic = std::pair<std::string_view, const char*>;
  constexpr std::array<Statistic, 6> kStatistics = {
      Statistic{"mean", "mean over the threads"},
      Statistic{"min", "of the thread with the least"},
      Statistic{"max", "of the thread with the most"},
      Statistic{"stddev", "standard deviation over the threads"},
      Statistic{"cv", "standard deviation over the mean"},
      Statistic{"count", "number of threads that have any"}};
  const std::string_view statistic =
      colon == std::string::npos ? std::string_view{} : std::string_view(column).substr(colon + 1);
  for (const auto& [name, what] : kStatistics) {
    if (statistic.substr(0, statistic.find(' ')) == name) return what;
  }
  for (const database::Metric& metric : experiment.metrics) {
    if (metric.name == event) return metric.description.substr(0, metric.description.find('.'));
  }
  return {};
}

/// Begins to read the profiles of what is selected; an error is shown, and nothing changes.
void select(Workspace& workspace, Host& host, const std::string& ranks, std::optional<std::uint32_t> role) {
  if (workspace.selecting()) {
    host.notify("Other threads are still being read");
    return;
  }
  try {
    workspace.select(ranks, role);
    host.notify("Reading the profiles of these threads...");
  } catch (const std::invalid_argument& refused) {
    host.notify(refused.what());
  } catch (const views::UnknownMetric& unknown) {
    host.notify(unknown.what());
  }
}

}  // namespace

Menu columns_menu(Workspace& workspace, Host& host) {
  Menu menu;
  menu.title = "Columns: (I) with all below, (E) itself";
  menu.several = true;
  const std::vector<std::string> shown = workspace.columns().names();
  std::vector<std::string> all = shown;
  for (const std::string& name : workspace.columns().known_names()) {
    if (std::find(shown.begin(), shown.end(), name) == shown.end()) all.push_back(name);
  }
  for (std::size_t index = 0; index < all.size(); ++index)
    menu.entries.push_back(
        {all[index], description_of(workspace.experiment(), all[index]), index < shown.size()});
  menu.taken = [&workspace, &host, all](const std::vector<bool>& checked) {
    std::vector<std::string> names;
    for (std::size_t index = 0; index < all.size(); ++index) {
      if (checked[index]) names.push_back(all[index]);
    }
    workspace.columns().show(names);
    host.figures_changed();
  };
  return menu;
}

Menu sort_menu(Workspace& workspace, Host& host) {
  Menu menu;
  menu.title = "Sort by";
  menu.cursor = static_cast<int>(workspace.columns().sort());
  for (const NumberColumn& each : workspace.columns())
    menu.entries.push_back({each.column.title, {}, &each == &workspace.columns().sort_column()});
  menu.chosen = [&workspace, &host](std::size_t column) {
    workspace.columns().sort_by(column);
    host.figures_changed();
  };
  return menu;
}

Menu passed_over_menu(Workspace& workspace, Host& host) {
  Menu menu;
  menu.title = "Show";
  menu.several = true;
  const views::PassedOver& now = workspace.passed_over;
  menu.entries = {{"source lines", "of loops and procedures", !now.statements},
                  {"inside of waits", "what lies below MPI calls", !now.wait_internals},
                  {"start-up frames", "what leads to main", !now.start_up},
                  {"call sites", "as lines of their own", !now.fold_calls},
                  {"recursion", "each call of a procedure by itself", !now.recursion},
                  {"inside of std::", "what the C++ standard library calls", !now.library}};
  menu.taken = [&workspace, &host](const std::vector<bool>& checked) {
    workspace.passed_over = {.fold_calls = !checked[3],
                             .statements = !checked[0],
                             .start_up = !checked[2],
                             .wait_internals = !checked[1],
                             .recursion = !checked[4],
                             .library = !checked[5]};
    host.figures_changed();
  };
  return menu;
}

Menu role_menu(Workspace& workspace, Host& host) {
  Menu menu;
  menu.title = "Threads";
  menu.entries.push_back({"all threads", {}, !workspace.role()});
  const std::vector<database::Role>& roles = workspace.experiment().roles;
  for (std::uint32_t role = 0; role < roles.size(); ++role) {
    menu.entries.push_back({role_phrase(workspace.experiment(), role), counted(roles[role].threads, "thread"),
                            workspace.role() == role});
    if (workspace.role() == role) menu.cursor = static_cast<int>(role) + 1;
  }
  menu.chosen = [&workspace, &host](std::size_t entry) {
    std::optional<std::uint32_t> role;
    if (entry > 0) role = static_cast<std::uint32_t>(entry - 1);
    select(workspace, host, workspace.ranks(), role);
  };
  return menu;
}

Prompt threshold_prompt(Workspace& workspace, Host& host) {
  constexpr double kWhole = 100;
  Prompt prompt;
  prompt.label = "Hide branches below (percent): ";
  prompt.entered = [&workspace, &host](const std::string& text) {
    double percent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    const bool number = error == std::errc{} && end == text.data() + text.size();
    if (!text.empty() && (!number || !(percent >= 0 && percent <= kWhole))) {
      host.notify("'" + text + "' is no percentage (give a number from 0 to 100)");
      return;
    }
    workspace.least_percent = percent;
    host.figures_changed();
  };
  return prompt;
}

void turn_folding(Workspace& workspace, Host& host) {
  views::PassedOver& over = workspace.passed_over;
  over.recursion = over.library = !over.recursion;
  host.figures_changed();
  host.notify(over.recursion
                  ? "Recursion, the insides of std:: and Python, and calls too short to sample are folded"
                  : "Each frame has its own row (u folds recursion and the insides of std:: and Python)");
}

Prompt ranks_prompt(Workspace& workspace, Host& host) {
  Prompt prompt;
  prompt.label = "Only ranks (such as 0-3,8; empty: all): ";
  prompt.text = workspace.ranks();
  prompt.entered = [&workspace, &host](const std::string& text) {
    select(workspace, host, text, workspace.role());
  };
  return prompt;
}

Prompt derived_prompt(Workspace& workspace, Host& host) {
  Prompt prompt;
  prompt.label = "Metric (NAME=FORMULA, $METRIC in it): ";
  prompt.entered = [&workspace, &host](const std::string& text) {
    if (text.empty()) return;
    try {
      workspace.columns().define(text);
    } catch (const views::BadDefinition& bad) {
      host.notify(bad.what());
      return;
    }
    workspace.columns().sort_by(workspace.columns().size() - 1);
    host.figures_changed();
    host.notify(save_derived_metrics(workspace.database(), workspace.columns().definitions()));
  };
  return prompt;
}

}  // namespace culprit::viewer::tui
