// PAPI's events as sources of samples. PAPI locks and allocates: one thread at a time is inside it, with all
// signals blocked, and only its own handler is entered from a signal, within ours and on our stack.
// Descriptors that PAPI opened are found by comparing /proc before and after, so that exec closes them.
#include "runtime/sampling/papi_sampling.hpp"

#include "runtime/events/papi_event_set.hpp"
#include "runtime/recording/refusals.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/system_calls.hpp"

#include <atomic>
#include <cerrno>
#include <initializer_list>

namespace culprit::runtime {
namespace {

constexpr int kCounters = 63;  // bits of an overflow vector, which has a sign

PapiLibrary papi;
bool loaded = false;
std::atomic<bool> lock{false};  // held by whoever is inside PAPI, but for its handler
std::atomic<void (*)(int, siginfo_t*, void*)> papi_handler{nullptr};
std::atomic<std::uint32_t> events_of_counter[kCounters];  // the same in all threads: bit i for event i
__attribute__((tls_model("initial-exec"))) __thread bool installing;

/// Keeps every signal of the thread and every other thread out while the calling thread is inside PAPI.
class InsidePapi {
 public:
  InsidePapi() : mask_(change_mask(SIG_SETMASK, ~KernelMask{0})) {
    hold_papi();
    installing = true;
  }
  ~InsidePapi() {
    installing = false;
    release_papi();
    change_mask(SIG_SETMASK, mask_);
  }
  InsidePapi(const InsidePapi&) = delete;
  InsidePapi& operator=(const InsidePapi&) = delete;

 private:
  KernelMask mask_;
};

bool samples_papi() {
  return process.events.find(EventSource::papi) != nullptr;
}

void all_failed(const char* why) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    if (process.events.events[i].source == EventSource::papi) event_failed(i, why);
  }
}

/// PAPI calls this for an interrupt of one or more counters.
void overflowed(int /*set*/, void* /*address*/, long long counters, void* context) {
  Thread* thread = this_thread();
  if (thread == nullptr || sampling_stopped()) return;
  std::uint32_t events = 0;
  for (int counter = 0; counter < kCounters; ++counter) {
    if ((counters >> counter & 1) != 0) events |= events_of_counter[counter].load(std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < process.events.count; ++i) {
    if ((events >> i & 1) != 0) charge(thread, i, process.events.events[i].period, context);
  }
}

/// A signal on its way from the kernel through the handler's own stack to PAPI.
struct Delivery {
  int signal;
  siginfo_t* info;
  void* context;
};

void deliver(void* argument) {
  auto* delivery = static_cast<Delivery*>(argument);
  papi_handler.load(std::memory_order_acquire)(delivery->signal, delivery->info, delivery->context);
}

void handle(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  Thread* thread = this_thread();
  const bool counter = info->si_code == POLL_IN || info->si_code == POLL_HUP;
  if (!counter) {
    act_in_shadow(signal, info, context);
  } else if (thread != nullptr && thread->papi.set != kPapiNull) {
    Delivery delivery{.signal = signal, .info = info, .context = context};
    move_to_handler_stack(thread, deliver, &delivery);
  }
  errno = saved_errno;
}

/// PAPI numbers an event set's events by their place in it; a counter may serve several.
void map_counters(int set) {
  std::size_t place[EventList::kMax];
  std::size_t count = 0;
  for (std::size_t i = 0; i < process.events.count; ++i) {
    if (process.events.events[i].source == EventSource::papi) place[count++] = i;
  }
  for (int counter = 0; counter < kCounters; ++counter) {
    int indices[EventList::kMax];
    int number = EventList::kMax;
    std::uint32_t events = 0;
    const long long vector = 1LL << counter;
    if (papi.get_overflow_event_index(set, vector, indices, &number) != kPapiOk) number = 0;
    for (int i = 0; i < number; ++i) {
      const auto index = static_cast<std::size_t>(indices[i]);
      if (index < count) events |= std::uint32_t{1} << place[index];
    }
    events_of_counter[counter].store(events, std::memory_order_relaxed);
  }
}

}  // namespace

void prepare_papi() {
  if (!samples_papi()) return;
  if (papi_in_use()) {
    all_failed("the program uses PAPI itself");
    return;
  }
  const InsidePapi inside;
  const char* why = load_papi(papi);
  loaded = why == nullptr;
  if (!loaded) all_failed(why);
}

void start_papi_events(Thread* thread) {
  thread->papi.set = kPapiNull;
  thread->papi.descriptors.count = 0;
  if (!loaded) return;
  const InsidePapi inside;
  PerfDescriptors before{};
  find_perf_descriptors(before);
  const int error = papi.register_thread();
  if (error != kPapiOk) {
    all_failed(papi.strerror(error));
    return;
  }
  int set = kPapiNull;
  const PapiOutcome outcome = start_event_set(papi, process.events, overflowed, set);
  find_perf_descriptors(thread->papi.descriptors);
  close_on_exec(before, thread->papi.descriptors);
  if (outcome.step == PapiStep::none) {
    map_counters(set);
    thread->papi.set = set;
  } else {
    all_failed(papi.strerror(outcome.error));
    papi.unregister_thread();
  }
}

void stop_papi_events(Thread* thread) {
  if (!loaded || thread->papi.set == kPapiNull) return;
  const InsidePapi inside;
  end_event_set(papi, thread->papi.set);
  papi.unregister_thread();
  thread->papi.descriptors.count = 0;
}

void hold_papi() {
  Backoff backoff;
  while (lock.exchange(true, std::memory_order_acquire)) backoff.pause();
}

void release_papi() {
  lock.store(false, std::memory_order_release);
}

void restart_papi() {
  if (!loaded) return;
  for (Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    for (std::size_t i = 0; i < thread->papi.descriptors.count; ++i)
      system_call(SYS_close, thread->papi.descriptors.numbers[i]);
    thread->papi.descriptors.count = 0;
    thread->papi.set = kPapiNull;
  }
  const InsidePapi inside;
  const char* why = load_papi(papi);
  loaded = why == nullptr;
  if (!loaded) all_failed(why);
}

bool papi_installs_handler() {
  return installing;
}

struct sigaction take_papi_handler(int signal, const struct sigaction& action) {
  papi_handler.store(action.sa_sigaction, std::memory_order_release);
  process.papi_signal = signal;
  process.mask |= mask_of(signal);
  struct sigaction taken {};
  taken.sa_sigaction = handle;
  taken.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // No other handler may run, and perhaps jump away, in the middle of ours; faults stay deliverable.
  // sigfillset would leave out the C library's own signals, one of which cancels a thread wherever it is.
  set_mask(taken.sa_mask, ~KernelMask{0});
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&taken.sa_mask, fault);
  return taken;
}

}  // namespace culprit::runtime
