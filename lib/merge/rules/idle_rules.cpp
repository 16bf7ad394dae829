// The rules that say by name what a procedure is to idleness (docs/algorithms.md 5.1): reads rule files, and
// finds all rules that fit a name, its MPI binding included; `*` stands for any characters. The strongest
// frontier wins: set-up, wait, wait-below, may-wait, communication; `ignore` overrides all. Cost: a hash
// look-up and the patterns, once per name.
#include "merge/rules/idle_rules.hpp"

#include "files/named_file.hpp"
#include "merge/rules/mpi_names.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace culprit::merge {

using measurement::WaitKind;

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

/// `__GI___libc_read` is `read`, `_IO_new_fopen` is `fopen`.
std::string_view without_libc_prefixes(std::string_view name) {
  for (const std::string_view prefix : {"__GI_", "__libc_", "__", "_IO_new_", "_IO_"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

}  // namespace

/// A rule with its continuation lines, in words.
struct IdleRules::Line {
  std::vector<std::string> words;
  std::string where;  ///< file:line
};

IdleRules IdleRules::built_in() {
  IdleRules rules;
  for (const BuiltInRules& file : built_in_rules()) rules.add(file.text, file.name);
  rules.added_.clear();
  return rules;
}

void IdleRules::add_file(const std::filesystem::path& path) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  std::error_code error;
  const std::string text = files::read_named(path, kLargest, error);
  if (error == std::errc::no_message) return;  // no rules are none to add
  if (error) {
    const std::string why = error == std::errc::invalid_argument ? "is no regular file" : error.message();
    throw RulesError(path.string() + ": cannot be read: " + why +
                     " (give --idle-rules a readable text file)");
  }
  add(text, path.string());
}

void IdleRules::add(std::string_view text, const std::string& source) {
  std::istringstream stream{std::string(text)};
  Line pending;
  std::string raw;
  for (int number = 1; std::getline(stream, raw); ++number) {
    raw.erase(std::min(raw.find('#'), raw.size()));
    std::istringstream words{raw};
    std::string word;
    const bool continues = !raw.empty() && (raw[0] == ' ' || raw[0] == '\t');
    std::vector<std::string> found;
    while (words >> word) found.push_back(word);
    if (found.empty()) continue;
    const std::string where = source + ":" + std::to_string(number);
    if (continues) {
      if (pending.words.empty()) {
        throw RulesError(where + ": continues no rule (start rules in the first column)");
      }
      pending.words.insert(pending.words.end(), found.begin(), found.end());
      continue;
    }
    if (!pending.words.empty()) add_line(pending);
    pending = {.words = std::move(found), .where = where};
  }
  if (!pending.words.empty()) add_line(pending);
}

namespace {

/// The entry whose name this is; null: there is none.
template <class Table>
const auto* named(const Table& table, const std::string& word) {
  const auto* const found =
      std::ranges::find_if(table, [&](const auto& entry) { return entry.first == word; });
  return found == table.end() ? nullptr : found;
}

}  // namespace

IdleRules::Action IdleRules::action_of(const Line& line) {
  constexpr std::array<std::pair<std::string_view, Action>, 12> kActions = {{
      {"ignore", Action::ignore},
      {"setup", Action::setup},
      {"communication", Action::communication},
      {"may-wait", Action::may_wait},
      {"wait", Action::wait},
      {"wait-below", Action::wait_below},
      {"progress", Action::progress},
      {"moves", Action::moves},
      {"library", Action::library},
      {"work", Action::work},
      {"io", Action::io},
      {"libc-io", Action::libc_io},
  }};
  const auto* const action = named(kActions, line.words[0]);
  if (action == nullptr) {
    throw RulesError(line.where + ": unknown rule '" + line.words[0] +
                     "' (use setup, communication, may-wait, wait, wait-below, progress, moves, library, "
                     "work, io, libc-io "
                     "or ignore)");
  }
  return action->second;
}

/// Sets the kind of the effect.
void IdleRules::take_kind(const Line& line, Effect& effect) {
  constexpr std::array<std::pair<std::string_view, WaitKind>, 6> kKinds = {{
      {"mpi", WaitKind::mpi},
      {"omp-barrier", WaitKind::omp_barrier},
      {"omp-idle", WaitKind::omp_idle},
      {"lock", WaitKind::lock},
      {"condition", WaitKind::condition},
      {"join", WaitKind::join},
  }};
  const std::string kind = line.words.size() > 1 ? line.words[1] : "";
  const auto* const known = named(kKinds, kind);
  effect.by_thread = kind == "omp" && effect.action == Action::library;
  if (known == nullptr && !effect.by_thread) {
    throw RulesError(line.where + ": unknown kind '" + kind +
                     "' (use mpi, omp-barrier, omp-idle, lock, condition or join)");
  }
  if (known != nullptr) effect.kind = known->second;
}

void IdleRules::add_line(const Line& line) {
  Effect effect{.action = action_of(line), .kind = WaitKind::mpi};
  const bool has_kind = effect.action == Action::wait || effect.action == Action::wait_below ||
                        effect.action == Action::library;
  if (has_kind) take_kind(line, effect);
  const std::size_t first = has_kind ? 2 : 1;
  if (line.words.size() == first) {
    throw RulesError(line.where + ": names nothing (add procedure names; * stands for any characters)");
  }
  for (std::size_t i = first; i < line.words.size(); ++i) {
    added_.push_back({line.words[i], line.where, effect.action == Action::library});
    if (effect.action == Action::library) {
      libraries_.push_back({.text = line.words[i], .effect = effect});
    } else if (line.words[i].find('*') != std::string::npos) {
      patterns_.push_back({.text = line.words[i], .effect = effect});
    } else {
      exact_[line.words[i]].push_back(effect);
    }
  }
}

std::vector<std::string> IdleRules::vain(std::span<const std::string> names) const {
  std::vector<std::string> lines;
  for (const Added& added : added_) {
    const auto fits = [&added](const std::string& name) {
      if (added.library) return matches(added.text, std::filesystem::path(name).filename().string());
      return matches(added.text, name) || matches(added.text, without_libc_prefixes(name)) ||
             matches(added.text, mpi_name(name));
    };
    if (std::ranges::any_of(names, fits)) continue;
    lines.push_back(added.where + ": " + added.text + ": no " +
                    (added.library
                         ? "load module of that file name was sampled (viewer-cli DB info lists all)"
                         : "procedure of that name was sampled (viewer-cli DB view flat lists all)"));
  }
  return lines;
}

void IdleRules::collect(std::string_view name, std::vector<Effect>& effects) const {
  if (const auto found = exact_.find(std::string(name)); found != exact_.end()) {
    effects.insert(effects.end(), found->second.begin(), found->second.end());
  }
  for (const Pattern& pattern : patterns_) {
    if (matches(pattern.text, name)) effects.push_back(pattern.effect);
  }
}

NameRule IdleRules::procedure(std::string_view name) const {
  std::vector<Effect> effects;
  collect(name, effects);
  const std::string mpi = mpi_name(name);
  if (!mpi.empty() && mpi != name) collect(mpi, effects);
  NameRule rule;
  std::vector<Effect> libc;
  collect(without_libc_prefixes(name), libc);
  for (const Effect& effect : libc) {
    if (effect.action == Action::ignore) return {};
    rule.libc_io = rule.libc_io || effect.action == Action::libc_io;
  }
  const auto frontier = [&rule](Frontier sort, WaitKind kind) {
    if (sort > rule.frontier) {
      rule.frontier = sort;
      rule.kind = kind;
    }
  };
  for (const Effect& effect : effects) {
    switch (effect.action) {
      case Action::ignore:
        return {};
      case Action::setup:
        frontier(Frontier::setup, effect.kind);
        break;
      case Action::communication:
        frontier(Frontier::communication, effect.kind);
        break;
      case Action::may_wait:
        frontier(Frontier::may_wait, effect.kind);
        break;
      case Action::wait:
        frontier(Frontier::wait, effect.kind);
        break;
      case Action::wait_below:
        frontier(Frontier::wait_below, effect.kind);
        break;
      case Action::progress:
        rule.progress = true;
        break;
      case Action::moves:
        rule.moves = true;
        break;
      case Action::work:
        rule.works = true;
        break;
      case Action::io:
        rule.io = true;
        break;
      case Action::libc_io:
      case Action::library:
        break;
    }
  }
  rule.unmarked = rule.frontier == Frontier::may_wait ||
                  (rule.frontier == Frontier::wait && rule.kind == WaitKind::mpi && mpi.empty());
  return rule;
}

std::string IdleRules::mpi_call(std::string_view procedure) const {
  std::string name = mpi_name(procedure);
  if (name.empty()) return name;
  std::vector<Effect> effects;
  collect(name, effects);
  const bool call = std::ranges::any_of(effects, [](const Effect& effect) {
    return effect.action == Action::setup || effect.action == Action::communication ||
           effect.action == Action::may_wait || effect.action == Action::wait ||
           effect.action == Action::wait_below;
  });
  return call ? name : std::string();
}

WaitKind IdleRules::library(const std::string& path, bool at_barrier) const {
  const std::string file = std::filesystem::path(path).filename().string();
  WaitKind kind = WaitKind::none;
  for (const Pattern& pattern : libraries_) {
    if (!matches(pattern.text, file)) continue;
    kind = pattern.effect.kind;
    if (pattern.effect.by_thread) kind = at_barrier ? WaitKind::omp_barrier : WaitKind::omp_idle;
  }
  return kind;
}

}  // namespace culprit::merge
