// Launchers start daemons on other hosts by commands that are their children: `ssh HOST orted …`,
// `ssh HOST hydra_pmi_proxy …`, `srun --nodelist=… orted …`. These name the hosts and the job. Of more than
// 64 hosts Open MPI's daemons start others in turn; the list of all nodes is among their arguments. srun
// starts tasks by daemons that are not its own: Slurm says which step is whose.
#include "stacks/launchers.hpp"

#include "stacks/commands.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace culprit::stacks {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr double kPatienceOfSlurm = 10;  // seconds
constexpr std::array<std::pair<Means, std::string_view>, 3> kNames = {
    {{Means::open_mpi, "openmpi"}, {Means::hydra, "hydra"}, {Means::slurm, "slurm"}}};

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(number) : std::nullopt;
}

/// Open MPI 4 numbers the jobs of one mpirun in the lower half; its own is 0. Later ones have names.
std::string family_of(std::string_view name_space) {
  constexpr std::uint32_t kFamily = 0xffff0000;
  if (const auto number = number_in(name_space)) return std::to_string(*number & kFamily);
  return std::string(name_space.substr(0, name_space.find('@')));
}

/// The words of a command line, also of those that an argument holds for a shell; without quotes.
std::vector<std::string> words_of(std::span<const std::string> command_line) {
  std::vector<std::string> words;
  for (const std::string& argument : command_line) {
    std::istringstream text(argument);
    for (std::string word; text >> word;) {
      std::erase_if(word, [](char each) { return each == '"' || each == '\''; });
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// What stands behind the option, or behind its equals sign; empty where it is not there.
std::string value_of(const std::vector<std::string>& words, std::string_view option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(option) && words[i].size() > option.size() && words[i][option.size()] == '=')
      return words[i].substr(option.size() + 1);
  }
  return "";
}

bool is_daemon(std::string_view word) {
  const std::string_view name = base_name(word);
  return name == "orted" || name == "prted" || name == "hydra_pmi_proxy";
}

std::optional<JobName> job_in(const std::vector<std::string>& words) {
  if (const std::string port = value_of(words, "--control-port"); !port.empty())
    return JobName{Means::hydra, port};
  for (const char* const option : {"ess_base_jobid", "ess_base_nspace"}) {
    if (const std::string id = value_of(words, option); !id.empty())
      return JobName{Means::open_mpi, family_of(id)};
  }
  return std::nullopt;
}

/// `a,b[2:1-3]`: at commas outside of brackets.
std::vector<std::string_view> split_names(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      if (i > begin) parts.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    } else {
      depth += list[i] == '[' ? 1 : list[i] == ']' ? -1 : 0;
    }
  }
  return parts;
}

/// `node[3:1-2,7]x`; returns false where it is none of these.
bool expand_name(std::string_view name, std::vector<std::string>& hosts) {
  const std::size_t open = name.find('['), colon = name.find(':', open), close = name.find(']', open);
  if (open == std::string_view::npos || colon == std::string_view::npos || close == std::string_view::npos ||
      colon > close)
    return false;
  const auto width = number_in(name.substr(open + 1, colon - open - 1));
  if (!width) return false;
  for (const std::string_view range : split_names(name.substr(colon + 1, close - colon - 1))) {
    const std::size_t dash = range.find('-');
    const auto first = number_in(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_in(range.substr(dash + 1));
    if (!first || !last) return false;
    for (std::uint64_t i = *first; i <= *last && hosts.size() < kMostHosts; ++i) {
      std::string digits = std::to_string(i);
      if (digits.size() < *width && *width < 20) digits.insert(0, *width - digits.size(), '0');
      hosts.push_back(std::string(name.substr(0, open)) + digits + std::string(name.substr(close + 1)));
    }
  }
  return true;
}

}  // namespace

std::string_view short_name(std::string_view host) {
  return host.substr(0, host.find('.'));
}

namespace {

void add_host(std::vector<std::string>& hosts, const std::string& host) {
  const auto same = [&](const std::string& known) { return short_name(known) == short_name(host); };
  if (std::ranges::none_of(hosts, same)) hosts.push_back(host);
}

std::string file_of(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

bool is_launcher(const ProcessEntry& process) {
  constexpr std::array<std::string_view, 5> kBeginnings = {"mpirun", "mpiexec", "orterun", "prterun", "prte"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view name) { return process.name.starts_with(name); });
}

/// Options of mpirun that say how other hosts are reached.
std::vector<std::string> options_of(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 8> kKeys = {"plm",   "oob",    "routed", "orte_",
                                                     "prte_", "rmaps_", "ras_",   "if_"};
  constexpr std::array<std::string_view, 4> kWithValue = {"--prefix", "-prefix", "--launch-agent",
                                                          "-launch-agent"};
  std::vector<std::string> options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::string_view bare = std::string_view(word).substr(word.starts_with("--") ? 1 : 0);
    const bool setting = bare == "-mca" || bare == "-gmca" || bare == "-prtemca" || bare == "-omca";
    if (setting && i + 2 < arguments.size()) {
      const bool kept =
          std::ranges::any_of(kKeys, [&](std::string_view key) { return arguments[i + 1].starts_with(key); });
      if (kept) options.insert(options.end(), {word, arguments[i + 1], arguments[i + 2]});
      i += 2;
    } else if (std::ranges::find(kWithValue, word) != kWithValue.end() && i + 1 < arguments.size()) {
      options.insert(options.end(), {word, arguments[++i]});
    } else if (bare == "-allow-run-as-root") {
      options.push_back(word);
    }
  }
  return options;
}

using Children = std::map<pid_t, const ProcessEntry*>;

/// The launcher that a command belongs to: between them a shell may stand. Null: none of these processes.
const ProcessEntry* launcher_above(const ProcessEntry& command, const Children& by_pid) {
  constexpr int kMostBetween = 8;
  pid_t parent = command.parent;
  for (int i = 0; i < kMostBetween; ++i) {
    const auto found = by_pid.find(parent);
    if (found == by_pid.end()) return nullptr;
    if (is_launcher(*found->second)) return found->second;
    parent = found->second->parent;
  }
  return nullptr;
}

std::vector<std::string> ask_slurm(std::vector<std::string> command) {
  std::vector<std::string> lines;
  command.insert(command.begin(), "scontrol");
  const Answer answer =
      run_command({.words = std::move(command), .environment = own_environment()}, kPatienceOfSlurm);
  std::istringstream text(answer.out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> hosts_of_slurm(const std::string& node_list) {
  return node_list.empty() ? std::vector<std::string>() : ask_slurm({"show", "hostnames", node_list});
}

/// A step of Slurm's, as `scontrol show step` prints it in a line.
struct Step {
  std::string id, nodes;
};

/// All that Slurm runs; it is asked once.
class Steps {
 public:
  std::optional<Step> find(pid_t srun) {
    if (!asked_) lines_ = ask_slurm({"--oneliner", "show", "step"});
    asked_ = true;
    const std::string own = ':' + std::to_string(srun);
    for (const std::string& line : lines_) {
      const std::vector<std::string> words = words_of(std::array{line});
      const std::string who = value_of(words, "SrunHost:Pid");
      if (!who.ends_with(own) || short_name(who.substr(0, who.size() - own.size())) != short_name(own_host()))
        continue;
      return Step{.id = value_of(words, "StepId"), .nodes = value_of(words, "NodeList")};
    }
    return std::nullopt;
  }

 private:
  bool asked_ = false;
  std::vector<std::string> lines_;
};

/// srun that starts the program itself. It consists of two processes, of which Slurm knows the first.
void add_srun(const ProcessEntry& process, Steps& steps, std::vector<Launcher>& launchers) {
  auto step = steps.find(process.pid);
  const auto parent = find_process(process.parent);
  if (!step && parent && parent->name == process.name) step = steps.find(parent->pid);
  if (!step || step->id.empty()) return;
  const auto same = [&](const Launcher& known) { return known.job == JobName{Means::slurm, step->id}; };
  if (std::ranges::any_of(launchers, same)) return;
  Launcher launcher{.job = {Means::slurm, step->id},
                    .pid = process.pid,
                    .means = Means::slurm,
                    .program = file_of(process.pid),
                    .options = {},
                    .allocation = step->id.substr(0, step->id.find('.')),
                    .hosts = {}};
  for (const std::string& host : hosts_of_slurm(step->nodes)) {
    if (short_name(host) != short_name(own_host())) add_host(launcher.hosts, host);
  }
  launchers.push_back(std::move(launcher));
}

Launcher launcher_of(const ProcessEntry& process, const ProcessEntry& command, const DaemonStart& start) {
  Launcher launcher{.job = start.job,
                    .pid = process.pid,
                    .means = start.job.means,
                    .program = file_of(process.pid),
                    .options = {},
                    .allocation = {},
                    .hosts = {}};
  if (!start.node_list.empty()) {
    launcher.means = Means::slurm;
    launcher.program = file_of(command.pid);
    launcher.allocation = Environment(command.pid).find("SLURM_JOB_ID").value_or("");
  } else if (start.job.means == Means::hydra) {
    if (!start.agent.empty()) launcher.options = {"-launcher", start.agent};
    if (!start.agent_program.empty())
      launcher.options.insert(launcher.options.end(), {"-launcher-exec", start.agent_program});
  } else {
    launcher.options = options_of(command_line_of(process.pid));
  }
  return launcher;
}

}  // namespace

std::string text_of(const JobName& name) {
  const auto* const found =
      std::ranges::find(kNames, name.means, [](const auto& each) { return each.first; });
  return std::string(found->second) + ':' + name.id;
}

std::optional<JobName> parse_job_name(std::string_view text) {
  for (const auto& [means, name] : kNames) {
    if (text.size() > name.size() + 1 && text.starts_with(name) && text[name.size()] == ':')
      return JobName{means, std::string(text.substr(name.size() + 1))};
  }
  return std::nullopt;
}

std::optional<JobName> job_name_of(const Environment& environment) {
  const auto name_space = environment.find("PMIX_NAMESPACE");
  const bool open_mpi = environment.find("OMPI_COMM_WORLD_RANK") || environment.find("PRTE_LAUNCHED");
  if (name_space && open_mpi) return JobName{Means::open_mpi, family_of(*name_space)};
  const auto job = environment.find("SLURM_JOB_ID"), step = environment.find("SLURM_STEP_ID");
  if (job && step && environment.find("SLURM_PROCID") && !environment.find("PMI_FD"))
    return JobName{Means::slurm, std::string(*job) + '.' + std::string(*step)};
  return std::nullopt;
}

bool is_of_job(const Environment& environment, const JobName& name) {
  if (name.means == Means::hydra) return false;
  if (name.means == Means::open_mpi) {
    const auto name_space = environment.find("PMIX_NAMESPACE");
    return name_space && family_of(*name_space) == name.id;
  }
  const auto job = environment.find("SLURM_JOB_ID"), step = environment.find("SLURM_STEP_ID");
  if (!job || !step) return false;
  return name.id == *job || name.id == std::string(*job) + '.' + std::string(*step);
}

std::optional<JobName> job_name_of_daemon(std::span<const std::string> command_line) {
  if (command_line.empty() || !is_daemon(command_line.front())) return std::nullopt;
  return job_in(words_of(command_line));
}

std::vector<std::string> expand_node_regex(std::string_view regex) {
  std::vector<std::string> hosts;
  for (const std::string_view name : split_names(regex.substr(0, regex.find('@')))) {
    if (hosts.size() < kMostHosts && !expand_name(name, hosts)) hosts.emplace_back(name);
  }
  return hosts;
}

/// The host stands before the daemon; the first node of Open MPI's list is the launcher's own.
std::optional<DaemonStart> daemon_start(const std::vector<std::string>& command_line) {
  const auto holds_daemon = [](const std::string& argument) {
    return std::ranges::any_of(words_of(std::array{argument}),
                               [](const std::string& word) { return is_daemon(word); });
  };
  const auto daemon = std::ranges::find_if(command_line, holds_daemon);
  if (daemon == command_line.end() || daemon == command_line.begin()) return std::nullopt;
  const std::vector<std::string> words = words_of(command_line);
  const auto job = job_in(words);
  if (!job) return std::nullopt;
  DaemonStart start{.job = *job, .hosts = {}, .node_list = {}, .agent = {}, .agent_program = {}};
  if (base_name(command_line.front()) == "srun") {
    start.node_list = value_of(words, "--nodelist");
    return start.node_list.empty() ? std::nullopt : std::optional(start);
  }
  const std::string& host = *(daemon - 1);
  if (host.empty() || host.starts_with('-') || host.find('/') != std::string::npos) return std::nullopt;
  add_host(start.hosts, host);
  const std::vector<std::string> nodes = expand_node_regex(value_of(words, "orte_node_regex"));
  for (std::size_t i = 1; i < nodes.size(); ++i) add_host(start.hosts, nodes[i]);
  start.agent = value_of(words, "--launcher");
  start.agent_program = value_of(words, "--launcher-exec");
  return start;
}

std::vector<Launcher> launchers_among(std::span<const ProcessEntry> processes) {
  Children by_pid;
  for (const ProcessEntry& process : processes) by_pid[process.pid] = &process;
  std::vector<Launcher> launchers;
  Steps steps;
  for (const ProcessEntry& process : processes) {
    const std::vector<std::string> command_line = command_line_of(process.pid);
    const auto start = daemon_start(command_line);
    if (!start && process.name == "srun") add_srun(process, steps, launchers);
    const ProcessEntry* const above = start ? launcher_above(process, by_pid) : nullptr;
    if (above == nullptr) continue;
    auto launcher = std::ranges::find(launchers, above->pid, &Launcher::pid);
    if (launcher == launchers.end())
      launcher = launchers.insert(launchers.end(), launcher_of(*above, process, *start));
    for (const std::string& host : start->hosts) add_host(launcher->hosts, host);
    for (const std::string& host : hosts_of_slurm(start->node_list)) add_host(launcher->hosts, host);
  }
  return launchers;
}

std::vector<std::string> command_on(const Launcher& launcher, const std::string& host,
                                    std::span<const std::string> program) {
  std::vector<std::string> command = {launcher.program};
  command.insert(command.end(), launcher.options.begin(), launcher.options.end());
  switch (launcher.means) {
    case Means::open_mpi:
      command.insert(command.end(), {"--host", host, "-n", "1", "--oversubscribe", "--bind-to", "none"});
      break;
    case Means::hydra:
      command.insert(command.end(), {"-hosts", host, "-n", "1"});
      break;
    case Means::slurm:
      command.insert(command.end(), {"--jobid=" + launcher.allocation, "--overlap", "--quiet", "--nodes=1",
                                     "--ntasks=1", "--nodelist=" + host});
      break;
  }
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

/// Our own session reaches other hosts now, which that of the launcher may not any more (SSH_AUTH_SOCK).
std::vector<std::string> environment_for(const Launcher& launcher) {
  constexpr std::array<std::string_view, 13> kTheirs = {
      "OMPI_", "OPAL_",  "PRTE_", "PMIX_MCA_",        "HYDRA_", "MPIEXEC_", "MPIR_",
      "UCX_",  "SLURM_", "PATH=", "LD_LIBRARY_PATH=", "I_MPI_", "FI_"};
  const auto is_theirs = [&](const std::string& variable) {
    return std::ranges::any_of(kTheirs, [&](std::string_view name) { return variable.starts_with(name); });
  };
  std::vector<std::string> all = own_environment();
  std::erase_if(all, [&](const std::string& variable) {
    return is_theirs(variable) || variable.starts_with("LD_PRELOAD=") || variable.starts_with("CULPRIT_");
  });
  for (const std::string& variable : Environment(launcher.pid).all()) {
    if (is_theirs(variable)) all.push_back(variable);
  }
  return all;
}

}  // namespace culprit::stacks
