#include "stacks/elsewhere.hpp"

#include "print/text.hpp"
#include "stacks/refusal.hpp"

#include <algorithm>
#include <string_view>

#include <unistd.h>

namespace culprit::stacks {
namespace {

std::string list_of(const std::vector<std::string>& hosts) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(hosts.size(), kMost); ++i)
    text += (i == 0 ? "" : ", ") + print::spelled(hosts[i]);
  return hosts.size() <= kMost ? text : text + " and " + std::to_string(hosts.size() - kMost) + " more";
}

bool is_above(pid_t launcher, pid_t process) {
  constexpr int kDeepest = 64;
  for (int i = 0; i < kDeepest && process > 1; ++i) {
    if (process == launcher) return true;
    const auto entry = find_process(process);
    if (!entry) return false;
    process = entry->parent;
  }
  return false;
}

}  // namespace

std::vector<Elsewhere> elsewhere_of(std::span<const Launcher> launchers, std::vector<std::string>& notes) {
  std::vector<Elsewhere> all;
  for (const Launcher& launcher : launchers) {
    if (launcher.hosts.empty()) continue;
    const auto owner = owner_of(launcher.pid);
    if (owner && *owner == geteuid()) {
      all.push_back({.launcher = launcher, .subject = {"--job", text_of(launcher.job)}});
      continue;
    }
    const std::string user = owner ? user_name(*owner) : "its user";
    notes.push_back("the job runs on " + list_of(launcher.hosts) + " too: " + user +
                    " alone may start a look there (run viewer-cli as " + user +
                    ", or on each host as root: viewer-cli stacks --job " +
                    print::shell_word(text_of(launcher.job)) + ")");
  }
  return all;
}

std::vector<Launcher> launchers_of(const std::set<std::string>& hosts, std::span<const pid_t> processes) {
  std::vector<ProcessEntry> own = all_processes();
  std::erase_if(own, [](const ProcessEntry& process) { return owner_of(process.pid) != geteuid(); });
  std::vector<Launcher> launchers = launchers_among(own);
  std::erase_if(launchers, [&](const Launcher& launcher) {
    const bool named = std::ranges::any_of(hosts, [&](const std::string& host) {
      return std::ranges::any_of(
          launcher.hosts, [&](const std::string& known) { return short_name(known) == short_name(host); });
    });
    return !named &&
           std::ranges::none_of(processes, [&](pid_t process) { return is_above(launcher.pid, process); });
  });
  return launchers;
}

}  // namespace culprit::stacks
