#include "launcher/event_refusal.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace culprit::launcher {
namespace {

// perf_event_paranoid above these forbids the events to all but root (perf_event_open(2); values above 2 are
// distributions' own).
constexpr int kLargestForUser = 2;
constexpr int kLargestForKernel = 1;

std::string forbidden(int paranoid, bool in_kernel) {
  return std::string(kParanoidFile) + ": set to " + std::to_string(paranoid) + ", which forbids " +
         (in_kernel ? "counting what happens in the kernel" : "counting") +
         " to all but root (run: sudo sysctl kernel.perf_event_paranoid=1, or use -e CPUTIME)";
}

}  // namespace

std::optional<int> read_paranoid(const std::string& file) {
  std::ifstream stream(file);
  int value = 0;
  if (!(stream >> value)) return std::nullopt;
  return value;
}

std::string explain_refusal(int error, bool in_kernel, std::optional<int> paranoid) {
  const std::string why = std::strerror(error);
  switch (error) {
    case EACCES:
    case EPERM:
      if (paranoid && *paranoid > (in_kernel ? kLargestForKernel : kLargestForUser))
        return forbidden(*paranoid, in_kernel);
      return "the kernel refuses it: " + why +
             (paranoid ? ", although perf_event_paranoid is " + std::to_string(*paranoid) : "") +
             " (in a container, let its seccomp profile allow perf_event_open, or use -e CPUTIME)";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "the kernel offers no such counter here: " + why +
             " (a virtual machine has hardware counters only if its host passes them on; use -e CPUTIME, or "
             "events "
             "that hpcrun-lite --list-events names)";
    case ENOSYS:
      return "the kernel was built without perf events: " + why + " (use -e CPUTIME)";
    case EMFILE:
    case ENFILE:
      return why + " (raise the limit with ulimit -n)";
    default:
      return "the kernel refuses it: " + why + " (use events that hpcrun-lite --list-events names)";
  }
}

}  // namespace culprit::launcher
