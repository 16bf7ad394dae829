#include "spelling/unknown_option.hpp"

#include "spelling/closest.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace culprit::spelling {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The words for what CLI11 says of values. Its texts begin with `--name: ` or end with `--name = value`.
std::string value_problem(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  if (text.find(" missing") != std::string::npos) return name + ": no value given";
  if (text.find("At Most") != std::string::npos) return name + ": given more than once";
  constexpr std::string_view kUnreadable = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(kUnreadable) && equals != std::string::npos) {
    return text.substr(kUnreadable.size(), equals - kUnreadable.size()) + ": '" + text.substr(equals + 3) +
           "' is no such number as it takes";
  }
  return text;
}

/// CLI11 gives two lines where a value is none of several; errors are one.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::string& help) {
  const std::string see = "see " + help + ')';
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr)
    return in_one_line(value_problem(error.what())) + " (" + see;
  const std::vector<std::string> extra = app.remaining();
  const auto unknown =
      std::ranges::find_if(extra, [](const std::string& word) { return word.starts_with('-'); });
  if (unknown == extra.end()) return in_one_line(error.what()) + " (" + see;
  const std::string option = unknown->substr(0, unknown->find('='));
  return option + ": no such option (" + did_you_mean(option, option_names(app)) + see;
}

}  // namespace culprit::spelling
