#include "launcher/event_probe.hpp"

#include "files/named_file.hpp"
#include "runtime/events/papi_event_set.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit::launcher {

namespace {

using runtime::Event;
using runtime::EventList;
using runtime::EventSource;
using runtime::PapiLibrary;
using runtime::PapiOutcome;
using runtime::PapiStep;

void ignore_overflow(int /*set*/, void* /*address*/, long long /*counters*/, void* /*context*/) {}

/// Why PAPI's sampling component is disabled; empty where it works.
std::string disabled_reason(const PapiLibrary& papi) {
  for (int i = 0; i < papi.num_components(); ++i) {
    if (std::strcmp(runtime::papi_component_name(papi, i), runtime::kPapiSamplingComponent) == 0)
      return runtime::papi_component_reason(papi, i);
  }
  return "it was built without its component perf_event";
}

/// Why the kernel lets no hardware counter be used; empty where it does.
std::string kernel_reason() {
  const long opened = runtime::open_cycle_counter();
  if (opened >= 0) {
    runtime::close_event(opened);
    return "";
  }
  return explain_refusal(static_cast<int>(-opened), false, read_paranoid());
}

std::string beside(const EventList& list, std::size_t event) {
  std::string names;
  for (std::size_t i = 0; i < event; ++i) {
    if (list.events[i].source != EventSource::papi) continue;
    names += (names.empty() ? "" : ", ") + std::string(list.events[i].name);
  }
  return names;
}

std::string no_room(const EventList& list, std::size_t event) {
  const std::string others = beside(list, event);
  if (others.empty())
    return "no counter is free for it (does another profiler, or the kernel's NMI watchdog, hold them?)";
  return "the processor has no counter for it beside " + others +
         ", and sampled events cannot share one by multiplexing (measure them in separate runs)";
}

std::string explain(const PapiLibrary& papi, const EventList& list, const PapiOutcome& outcome) {
  const bool conflict = outcome.error == runtime::kPapiConflict || outcome.error == runtime::kPapiManyPasses;
  const std::string disabled = disabled_reason(papi);
  if (!disabled.empty() && outcome.step != PapiStep::component) {
    const std::string kernel = kernel_reason();
    return "PAPI has no counters here: " + disabled +
           (kernel.empty() ? " (hpcrun-lite --list-events names what works)" : "; " + kernel);
  }
  switch (outcome.step) {
    case PapiStep::name:
      return "no such event (hpcrun-lite --list-events names those that work here, papi_native_avail all "
             "others)";
    case PapiStep::component:
      return "its component of PAPI counts, but cannot interrupt the program (choose an event of perf_event)";
    case PapiStep::overflow:
      return "PAPI combines it from several counters, and only single ones can be sampled (papi_avail -e " +
             std::string(list.events[outcome.event].name) + " lists them)";
    default:
      break;
  }
  if (conflict) return no_room(list, outcome.event);
  std::string kernel = kernel_reason();
  if (!kernel.empty()) return kernel;
  if (outcome.error == runtime::kPapiNoEvent)
    return "this processor does not have it (hpcrun-lite --list-events names what works)";
  return std::string("PAPI refuses it: ") + papi.strerror(outcome.error) +
         " (hpcrun-lite --list-events names what works)";
}

std::string probe(const EventList& list) {
  PapiLibrary papi;
  const Event& first = *list.find(EventSource::papi);
  if (const char* why = runtime::load_papi(papi)) {
    return std::string(first.name) + ": neither a clock nor an event of the kernel, and " + why +
           " (install it, on Debian with apt install libpapi7.0, or use events that hpcrun-lite "
           "--list-events names)";
  }
  int set = runtime::kPapiNull;
  const PapiOutcome outcome = runtime::start_event_set(papi, list, ignore_overflow, set);
  runtime::end_event_set(papi, set);
  if (outcome.step == PapiStep::none) return "";
  return std::string(list.events[outcome.event].name) + ": " + explain(papi, list, outcome);
}

/// One line per preset that can be sampled: name, tab, description.
std::string list_presets(const PapiLibrary& papi) {
  std::string lines;
  const auto info = std::make_unique<runtime::PapiEventInfo>();
  EventList one;
  one.count = 1;
  one.events[0].source = EventSource::papi;
  int code = runtime::kPapiPresets;
  for (int more = papi.enum_event(&code, runtime::kPapiEnumerateFirst); more == runtime::kPapiOk;
       more = papi.enum_event(&code, runtime::kPapiEnumerateEvents)) {
    if (papi.get_event_info(code, info.get()) != runtime::kPapiOk) continue;
    const std::string name = info->symbol();
    if (name.empty() || name.size() >= Event::kMaxName) continue;
    std::memcpy(one.events[0].name, name.c_str(), name.size() + 1);
    one.events[0].period = runtime::default_papi_period(name.c_str());
    int set = runtime::kPapiNull;
    const PapiOutcome outcome = runtime::start_event_set(papi, one, ignore_overflow, set);
    runtime::end_event_set(papi, set);
    if (outcome.step == PapiStep::none) lines += name + '\t' + info->description() + '\n';
  }
  return lines;
}

}  // namespace

std::string find_papi_problem(const EventList& list) {
  const Event* first = list.find(EventSource::papi);
  if (first == nullptr) return "";
  const auto problem = in_separate_process([&] { return probe(list); });
  return problem ? *problem
                 : std::string(first->name) + ": PAPI crashed when it was asked (does papi_avail work?)";
}

PapiOffer list_papi_events() {
  PapiOffer offer;
  const auto lines = in_separate_process([] {
    PapiLibrary papi;
    if (const char* why = runtime::load_papi(papi)) return std::string("\n") + why;
    const std::string disabled = disabled_reason(papi);
    std::string presets = disabled.empty() ? list_presets(papi) : "";
    if (!presets.empty()) return presets;
    const std::string kernel = kernel_reason();
    const bool both = !disabled.empty() && !kernel.empty();
    return "\n" + (disabled.empty() ? "" : "PAPI says: " + disabled) + (both ? "; " : "") + kernel;
  });
  if (!lines || lines->empty() || lines->front() == '\n') {
    offer.why_none = lines ? lines->substr(lines->empty() ? 0 : 1) : "PAPI crashed when it was asked";
    if (offer.why_none.empty()) offer.why_none = "none of PAPI's presets can be sampled on this processor";
    return offer;
  }
  std::istringstream stream(*lines);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) offer.presets.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return offer;
}

namespace {

[[noreturn]] void run_child(int out, const std::function<std::string()>& work) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  const std::string result = work();
  std::size_t written = 0;
  while (written < result.size()) {
    const ssize_t length = write(out, result.data() + written, result.size() - written);
    if (length < 0 && errno != EINTR) _exit(1);
    if (length > 0) written += static_cast<std::size_t>(length);
  }
  _exit(0);
}

}  // namespace

std::optional<std::string> in_separate_process(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], work);
  }
  close(ends[1]);
  std::string text;
  if (child > 0) text = files::read_pipe(ends[0]);
  close(ends[0]);
  if (child < 0) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

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
