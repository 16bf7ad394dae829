#include "stacks/refusal.hpp"

#include "print/text.hpp"
#include "stacks/processes.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include <pwd.h>
#include <unistd.h>

namespace culprit::stacks {
namespace {

bool in_other_user_namespace(pid_t pid) {
  std::error_code error;
  const auto theirs = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/user", error);
  return error || theirs != std::filesystem::read_symlink("/proc/self/ns/user", error);
}

std::string reason(pid_t pid) {
  const std::string tracer = status_field(pid, "TracerPid");
  if (!tracer.empty() && tracer != "0")
    return label_of(static_cast<pid_t>(std::atol(tracer.c_str()))) + " traces it already (end that first)";
  const auto owner = owner_of(pid);
  const bool others = owner && *owner != getuid() && geteuid() != 0;
  if (others)
    return "it belongs to " + user_name(*owner) + ", you are " + user_name(getuid()) +
           " (run viewer-cli as that user or as root)";
  const std::string scope = read_text("/proc/sys/kernel/yama/ptrace_scope");
  if (scope.starts_with('3'))
    return "kernel.yama.ptrace_scope is 3, so nobody may trace until the host is started again (ask its "
           "administrator)";
  if (scope.starts_with('2'))
    return "kernel.yama.ptrace_scope is 2, so only root may trace (run viewer-cli as root)";
  if (scope.starts_with('1') && geteuid() != 0)
    return "kernel.yama.ptrace_scope is 1, so only a process's parent may trace it (echo 0 | sudo tee "
           "/proc/sys/kernel/yama/ptrace_scope, or run viewer-cli as root)";
  if (in_other_user_namespace(pid))
    return "it runs in a container of its own (run viewer-cli in that container, or as root on the host)";
  return "the system forbids to trace it: a container without the capability SYS_PTRACE, or a program that "
         "protects itself (docker run --cap-add=SYS_PTRACE, or run viewer-cli as root on the host)";
}

}  // namespace

std::string user_name(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry != nullptr ? print::spelled(entry->pw_name) : "user " + std::to_string(user);
}

std::string explain_refusal(pid_t pid, int error) {
  if (is_of_kernel(pid))
    return label_of(pid) +
           ": a thread of the kernel, which runs no program (give numbers of other processes)";
  if (error == EPERM || error == EACCES) return label_of(pid) + ": not permitted: " + reason(pid);
  return label_of(pid) + ": cannot be traced: " + std::strerror(error) +
         " (run viewer-cli on the process's host, outside of emulators)";
}

}  // namespace culprit::stacks
