#include "commands/html/source_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

constexpr std::size_t kCostColumns = 2;

/// What lines cost, by column.
using LineCosts = std::map<std::uint32_t, std::array<double, kCostColumns>>;

/// The run's time, and waiting, where there is any.
std::vector<std::size_t> columns_of_lines(const std::vector<PageColumn>& columns) {
  std::vector<std::size_t> chosen = {0};
  for (std::size_t i = 1; i < columns.size() && chosen.size() < kCostColumns; ++i) {
    if (columns[i].column.name.event == "idleness" && columns[i].column.name.inclusive) chosen.push_back(i);
  }
  return chosen;
}

/// Of the statements in those files.
std::unordered_map<database::StringId, LineCosts> costs_of_files(const views::Figures& figures,
                                                                 const std::vector<PageColumn>& columns,
                                                                 const std::vector<std::size_t>& chosen) {
  const database::Contents& experiment = figures.experiment();
  std::unordered_map<database::StringId, LineCosts> costs;
  for (const database::SourceFile& source : experiment.sources()) costs.try_emplace(source.path);
  for (database::FlatId scope = 0; scope < experiment.flat.size(); ++scope) {
    const database::FlatScope& self = experiment.flat[scope];
    if (self.kind != database::ContextKind::statement || self.line == 0) continue;
    const auto file = costs.find(self.file);
    if (file == costs.end()) continue;
    auto& line = file->second[self.line];
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const double value = figures.at_flat(columns[chosen[i]].column, scope);
      if (!std::isnan(value)) line.at(i) += value;
    }
  }
  return costs;
}

}  // namespace

Json source_costs(const views::Figures& figures, const std::vector<PageColumn>& columns, PageTexts& texts,
                  std::size_t bytes) {
  const database::Contents& experiment = figures.experiment();
  Json json = {{"columns", Json::array()}, {"files", Json::array()}, {"left_out", 0}};
  if (columns.empty() || experiment.sources().empty()) return json;
  const std::vector<std::size_t> chosen = columns_of_lines(columns);
  json["columns"] = chosen;
  const auto costs = costs_of_files(figures, columns, chosen);
  std::vector<std::pair<double, const database::SourceFile*>> files;
  for (const database::SourceFile& source : experiment.sources()) {
    double whole = 0;
    for (const auto& [line, values] : costs.at(source.path)) whole += values.front();
    files.emplace_back(whole, &source);
  }
  std::ranges::stable_sort(files, std::ranges::greater(), [](const auto& each) { return each.first; });
  std::size_t taken = 0, left_out = 0;
  for (const auto& [whole, source] : files) {
    if (taken + source->text.size() > bytes) {
      ++left_out;
      continue;
    }
    taken += source->text.size();
    Json lines = Json::array();
    for (const auto& [line, values] : costs.at(source->path)) {
      Json cells = {line};
      for (std::size_t i = 0; i < chosen.size(); ++i) cells.push_back(short_number(values.at(i)));
      lines.push_back(std::move(cells));
    }
    json["files"].push_back({{"file", texts(experiment.strings[source->path])},
                             {"cost", short_number(whole)},
                             {"text", source->text},
                             {"lines", std::move(lines)}});
  }
  json["left_out"] = left_out;
  return json;
}

}  // namespace culprit::viewer
