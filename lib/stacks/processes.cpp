// Reads what /proc says of processes: stat, status, maps, environment. A process's rank is what its launcher
// set in the environment (measurement/launch_variables.hpp); Slurm's number of the task comes last, since
// within a batch script the launcher itself has it. Answers are empty for processes that are gone: that is no
// error.
#include "stacks/processes.hpp"

#include "measurement/launch_variables.hpp"
#include "print/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace culprit::stacks {
namespace {

namespace fs = std::filesystem;

std::string of_process(pid_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + '/' + std::string(file);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// Field 2 of stat, the name, is in parentheses and may hold anything.
std::optional<ProcessEntry> parse_stat(const std::string& text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  constexpr int kBetween = 15;  // fields between the session and the start
  ProcessEntry entry;
  std::istringstream before(text.substr(0, open));
  std::istringstream fields(text.substr(close + 1));
  std::string skipped;
  pid_t group = 0;
  if (!(before >> entry.pid) || !(fields >> entry.state >> entry.parent >> group >> entry.session))
    return std::nullopt;
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  if (!(fields >> entry.start)) return std::nullopt;
  entry.name = print::spelled(std::string_view(text).substr(open + 1, close - open - 1));
  return entry;
}

std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> numbers;
  std::error_code error;
  for (fs::directory_iterator each(directory, error), end; !error && each != end; each.increment(error)) {
    if (const auto number = number_in<pid_t>(each->path().filename().string())) numbers.push_back(*number);
  }
  return numbers;
}

/// Whether a file of /proc/PID/maps has a name that begins so.
bool has_loaded(const std::string& maps, std::string_view beginning) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t slash = line.rfind('/');
    if (slash != std::string::npos && std::string_view(line).substr(slash + 1).starts_with(beginning))
      return true;
  }
  return false;
}

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<ProcessEntry> find_process(pid_t pid) {
  auto entry = parse_stat(read_text(of_process(pid, "stat")));
  if (entry && (entry->state == 'Z' || entry->state == 'X') && threads_of(pid).size() < 2)
    return std::nullopt;
  return entry;
}

std::optional<ProcessEntry> find_thread(pid_t pid, pid_t tid) {
  return parse_stat(read_text(of_process(pid, "task/" + std::to_string(tid) + "/stat")));
}

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> all;
  for (const pid_t pid : numbers_in("/proc")) {
    if (auto entry = find_process(pid)) all.push_back(std::move(*entry));
  }
  return all;
}

std::vector<pid_t> threads_of(pid_t pid) {
  return numbers_in(of_process(pid, "task"));
}

pid_t process_of_thread(pid_t tid) {
  return number_in<pid_t>(status_field(tid, "Tgid")).value_or(tid);
}

Environment::Environment(pid_t pid) : text_(read_text(of_process(pid, "environ"))) {}

std::optional<std::string_view> Environment::find(std::string_view name) const {
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t end = std::min(text_.find('\0', at), text_.size());
    const std::string_view entry = std::string_view(text_).substr(at, end - at);
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
    at = end + 1;
  }
  return std::nullopt;
}

std::vector<std::string> Environment::all() const {
  return split_at_zeros(text_);
}

std::optional<std::int32_t> Environment::number(std::string_view name) const {
  const auto value = find(name);
  const auto found = value ? number_in<std::int32_t>(*value) : std::nullopt;
  return found && *found >= 0 ? found : std::nullopt;
}

std::optional<std::int32_t> rank_of(const Environment& environment) {
  for (const std::string_view name : measurement::kRankVariables) {
    if (const auto rank = environment.number(name)) return rank;
  }
  return environment.number("SLURM_PROCID");  // last: within a batch script the launcher itself has it
}

std::optional<std::int32_t> ranks_of_job(const Environment& environment) {
  for (const std::string_view name : measurement::kRanksVariables) {
    if (const auto ranks = environment.number(name)) return ranks;
  }
  return std::nullopt;
}

bool uses_mpi(pid_t pid) {
  return has_loaded(read_text(of_process(pid, "maps")), "libmpi");
}

bool has_memory(pid_t pid) {
  return std::ranges::any_of(threads_of(pid), [](pid_t tid) { return !status_field(tid, "VmSize").empty(); });
}

bool is_measured(pid_t pid) {
  const std::string maps = read_text(of_process(pid, "maps"));
  return maps.empty() || has_loaded(maps, "libculprit");
}

bool is_of_kernel(pid_t pid) {
  constexpr pid_t kParent = 2;  // kthreadd
  const auto process = find_process(pid);
  return process && (pid == kParent || process->parent == kParent) && !has_memory(pid);
}

std::vector<std::string> command_line_of(pid_t pid) {
  return split_at_zeros(read_text(of_process(pid, "cmdline")));
}

std::optional<uid_t> owner_of(pid_t pid) {
  std::istringstream ids(status_field(pid, "Uid"));  // real, effective, saved, of the file system
  uid_t real = 0;
  return ids >> real ? std::optional(real) : std::nullopt;
}

std::string status_field(pid_t pid, std::string_view name) {
  std::istringstream status(read_text(of_process(pid, "status")));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string label_of(pid_t pid) {
  const auto entry = parse_stat(read_text(of_process(pid, "stat")));
  return "process " + std::to_string(pid) + (entry ? " (" + entry->name + ')' : "");
}

}  // namespace culprit::stacks
