#include "commands/stacks_elsewhere.hpp"

#include "commands/stacks_json.hpp"
#include "print/text.hpp"
#include "stacks/held_threads.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace culprit::viewer {
namespace {

constexpr std::size_t kAtOnce = 16;
/// Beside the looks themselves: a launcher takes about a second, names and lines of large programs some more.
constexpr double kPatienceWithHost = 30;
constexpr std::size_t kLongestReason = 160;

std::string own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::vector<std::string> program_for(const stacks::Elsewhere& each, const Invocation& invocation) {
  std::vector<std::string> words = {own_program(), "stacks"};
  words.insert(words.end(), each.subject.begin(), each.subject.end());
  words.insert(words.end(), {"--here", "--format", "json", "--looks", std::to_string(invocation.stacks.looks),
                             "--every", fmt::format("{}", invocation.every_s)});
  return words;
}

/// Of what launchers write when they fail, the line that says why: between rules and blank lines, the first.
std::string reason_in(const stacks::Answer& answer) {
  constexpr std::string_view kOwn = "viewer-cli: stacks: ";
  std::istringstream lines(answer.err);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t own = line.find(kOwn); own != std::string::npos) {
      first = line.substr(own + kOwn.size());
      break;
    }
    if (first.empty() && line.find_first_not_of("-= \t\r") != std::string::npos) first = line;
  }
  if (first.empty()) first = "no answer, exit status " + std::to_string(answer.status);
  if (first.size() > kLongestReason) first = first.substr(0, kLongestReason) + "...";
  return print::spelled(first);
}

}  // namespace

LooksElsewhere::LooksElsewhere(const stacks::Job& job, const Invocation& invocation)
    : limit_s_(kPatienceWithHost + invocation.stacks.looks * invocation.every_s) {
  for (const stacks::Elsewhere& each : job.elsewhere) {
    std::string remedy = "viewer-cli stacks";
    for (const std::string& word : each.subject) remedy += ' ' + print::shell_word(word);
    const std::vector<std::string> program = program_for(each, invocation);
    const std::vector<std::string> environment = environment_for(each.launcher);
    for (const std::string& name : each.launcher.hosts)
      hosts_.push_back(
          {.name = print::spelled(name),
           .command = {.words = command_on(each.launcher, name, program), .environment = environment},
           .remedy = remedy,
           .answer = {}});
  }
  if (hosts_.empty()) return;
  // Else the terminal could stop us by one of these threads amid a look.
  const stacks::StopsLater all_threads;
  done_ = std::async(std::launch::async, [this] {
    std::atomic<std::size_t> next = 0;
    std::vector<std::future<void>> workers;
    for (std::size_t i = 0; i < std::min(kAtOnce, hosts_.size()); ++i) {
      workers.push_back(std::async(std::launch::async, [this, &next] {
        for (std::size_t at = next++; at < hosts_.size(); at = next++)
          hosts_[at].answer = stacks::run_command(hosts_[at].command, limit_s_);
      }));
    }
    for (std::future<void>& worker : workers) worker.get();
  });
}

/// A host on which nothing of the job runs gives an empty answer.
void LooksElsewhere::take(const Host& host, double limit_s, stacks::Observation& observation) {
  const auto complain = [&](const std::string& why) {
    observation.unseen.push_back("host " + host.name + ": " + why + " (look there: " + host.remedy + ")");
  };
  try {
    stacks::Observation found = read_stacks(host.answer.out);
    for (auto* const list : {&found.unseen, &found.missed}) {
      for (std::string& each : *list) each.insert(0, "host " + host.name + ": ");
    }
    stacks::join(observation, std::move(found));
  } catch (const std::runtime_error&) {
    complain(host.answer.late ? fmt::format("no answer within {:.0f} s", limit_s) : reason_in(host.answer));
  }
}

void LooksElsewhere::join(stacks::Observation& observation) {
  if (hosts_.empty()) return;
  done_.get();
  for (const Host& host : hosts_) take(host, limit_s_, observation);
}

}  // namespace culprit::viewer
