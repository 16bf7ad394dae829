// Guesses which known word a user meant. The nearest word is taken if at most a third of its letters differ.
// If no word is that near, the word that begins with the given one is taken, if it is the only one. The
// distance (optimal string alignment) is the number of Damerau's errors (CACM 1964): a letter is inserted,
// deleted or replaced, or two neighbours are exchanged. Cost: the product of both lengths for each known
// word.
#include "spelling/closest.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace culprit::spelling {

namespace {

constexpr std::size_t kLongest = 200;        // letters: nobody mistypes longer names
constexpr std::size_t kLettersPerError = 3;  // of the known word
constexpr std::size_t kShortestBeginning = 3;

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool begins_like(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() &&
         std::ranges::equal(text.substr(0, beginning.size()), beginning, same);
}

}  // namespace

std::size_t distance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between beginnings of `a` and of `b`: the one before last, the last, this.
  std::vector<std::size_t> older(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool exchanged = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (exchanged) row[j] = std::min(row[j], older[j - 2] + 1);
    }
    older.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<std::string> closest(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& each : known) {
    if (each.size() > kLongest) continue;
    const std::size_t errors = distance(word, each);
    const std::size_t allowed = each.size() / kLettersPerError;
    if (errors > allowed || (nearest != nullptr && errors >= least)) continue;
    nearest = &each;
    least = errors;
  }
  if (nearest != nullptr) return *nearest;
  if (word.size() < kShortestBeginning) return std::nullopt;
  const auto begins = [word](const std::string& each) { return begins_like(each, word); };
  if (std::ranges::count_if(known, begins) != 1) return std::nullopt;
  return *std::ranges::find_if(known, begins);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::optional<std::string> meant = closest(word, known);
  return meant ? "did you mean " + *meant + "? " : std::string{};
}

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
  constexpr std::string_view kRequired = " is required";
  if (text.ends_with(kRequired)) return "no " + text.substr(0, text.size() - kRequired.size()) + " given";
  if (text.find("At Most") != std::string::npos) return name + ": given more than once";
  constexpr std::string_view kUnreadable = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(kUnreadable) && equals != std::string::npos) {
    return text.substr(kUnreadable.size(), equals - kUnreadable.size()) + ": '" + text.substr(equals + 3) +
           "' is not a number that it takes";
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
  if (unknown == extra.end()) return "unexpected '" + in_one_line(extra.front()) + "' (" + see;
  const std::string option = unknown->substr(0, unknown->find('='));
  return option + ": no such option (" + did_you_mean(option, option_names(app)) + see;
}

}  // namespace culprit::spelling
