#include "request/command_line.hpp"
#include "text/shorten.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"
#include "views/source.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <set>
#include <string_view>

namespace culprit::viewer {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::array<std::string_view, 23> kWithValue = {
    "--balance",   "--speedup", "--remove",     "--format", "--sort", "--metrics", "--metric", "--derive",
    "--depth",     "--min",     "--focus",      "--ranks",  "--role", "--output",  "-o",       "--finer",
    "--procedure", "--scaling", "--source-map", "--after",  "--job",  "--looks",   "--every"};

bool has_value(const std::string& option) {
  return std::find(kWithValue.begin(), kWithValue.end(), option) != kWithValue.end();
}

/// The words that are no options and no values of options.
Words positional(std::span<const std::string> words) {
  Words found;
  for (std::size_t word = 0; word < words.size(); ++word) {
    if (has_value(words[word])) {
      ++word;
    } else if (!words[word].starts_with('-')) {
      found.push_back(words[word]);
    }
  }
  return found;
}

/// The database, or the one beside a measurement directory that was merged before.
fs::path database_of(const std::string& name) {
  fs::path path = fs::path(name).lexically_normal();
  if (!fs::is_directory(path)) return path;
  if (!path.has_filename()) path = path.parent_path();
  return path += ".db";
}

Words metrics_of(const std::string& database) {
  Words names;
  const views::DatabaseSource source(database_of(database));
  for (const database::Metric& metric : source.experiment().metrics) names.push_back(metric.name);
  if (std::find(names.begin(), names.end(), views::kImbalance) == names.end())
    names.emplace_back(views::kImbalance);
  const Words events = names;
  for (const std::string& event : events) {
    for (const std::string_view statistic : views::kStatistics)
      names.push_back(event + ':' + std::string(statistic));
  }
  return names;
}

/// What `variation` shows over iterations.
Words events_of(const std::string& database) {
  Words names;
  const views::DatabaseSource source(database_of(database));
  for (const std::uint32_t metric : source.experiment().trace().metrics)
    names.push_back(source.experiment().metrics[metric].name);
  return names;
}

/// Paths of one name.
Words procedures_of(const std::string& database) {
  std::set<std::string> names;
  const views::DatabaseSource source(database_of(database));
  const database::Contents& experiment = source.experiment();
  for (std::uint32_t number = 0; number < experiment.procedures.size(); ++number) {
    const database::Context& first = experiment.contexts[experiment.procedures[number].first];
    names.insert(without_parameters(views::label(views::frame_of(experiment, first))));
  }
  return {names.begin(), names.end()};
}

Words roles_of(const std::string& database) {
  Words names;
  const views::DatabaseSource source(database_of(database));
  for (const database::Role& role : source.experiment().roles) names.push_back(role.name);
  return names;
}

Words values_of(const std::string& option, const Words& before) {
  if (option == "--format") return {"text", "json", "csv"};
  if (option == "--scaling") return {"strong", "weak"};
  if (option == "--output" || option == "-o") return {kCompleteFiles};
  if (before.empty()) return {};
  if (option == "--balance" || option == "--speedup" || option == "--remove") return procedures_of(before[0]);
  if (option == "--metric" && before.size() > 1 && before[1] == "variation") return events_of(before[0]);
  if (option == "--metric" || option == "--metrics" || option == "--sort") return metrics_of(before[0]);
  if (option == "--role") return roles_of(before[0]);
  return {};
}

Words arguments_of(const Words& before) {
  if (before.empty()) return {kCompleteDatabases, "stacks"};
  if (before[0] == "stacks") return {kCompleteFiles};
  if (before.size() == 1) return command_names();
  if (before.size() > 2) return {};
  if (before[1] == "view") return view_names();
  if (before[1] == "export") return export_names();
  if (before[1] == "diff") return {kCompleteDatabases};
  if (before[1] == "threads") return procedures_of(before[0]);
  return {};
}

Words options_of(const Words& before) {
  if (!before.empty() && before[0] == "stacks") return option_names(before[0]);
  if (before.size() > 1) return option_names(before[1]);
  Words options = option_names("report");
  for (const char* const browser : {"--source-map", "--follow", "--every"}) options.emplace_back(browser);
  return options;
}

Words keep_begun(Words words, const std::string& begun) {
  std::erase_if(words, [&](const std::string& word) {
    return word != kCompleteFiles && word != kCompleteDatabases && !word.starts_with(begun);
  });
  return words;
}

/// The last of a list `a,b,c` is completed, the others stay.
Words complete_list(const Words& words, const std::string& begun) {
  const std::size_t comma = begun.rfind(',');
  const std::string before = comma == std::string::npos ? "" : begun.substr(0, comma + 1);
  Words completed;
  for (const std::string& word : words) completed.push_back(before + word);
  return keep_begun(std::move(completed), begun);
}

Words complete_words(std::span<const std::string> words) {
  const std::string& begun = words.back();
  const std::span<const std::string> earlier = words.first(words.size() - 1);
  const Words before = positional(earlier);
  if (!earlier.empty() && has_value(earlier.back()))
    return complete_list(values_of(earlier.back(), before), begun);
  if (!begun.starts_with('-')) return keep_begun(arguments_of(before), begun);
  const std::size_t sign = begun.find('=');
  if (sign == std::string::npos) return keep_begun(options_of(before), begun);
  Words completed;
  const Words values = complete_list(values_of(begun.substr(0, sign), before), begun.substr(sign + 1));
  for (const std::string& value : values) {
    if (value != kCompleteFiles) completed.push_back(begun.substr(0, sign + 1) + value);
  }
  return completed;
}

}  // namespace

std::vector<std::string> complete(std::span<const std::string> words) {
  if (words.empty()) return {};
  try {
    return complete_words(words);
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace culprit::viewer
