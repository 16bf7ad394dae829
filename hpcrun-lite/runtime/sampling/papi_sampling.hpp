#pragma once

#include "runtime/state/thread.hpp"

#include <csignal>

// PAPI's events as sample sources of a thread. PAPI sends a signal of its own; its handler runs inside one of
// ours, with all signals held back, so that no two handlers of a thread interleave.
namespace culprit::runtime {

/// Loads PAPI if the process samples any event of it. In the constructor.
void prepare_papi();

/// Starts the calling thread's events; what cannot be started is noted in the measurement. Not from a
/// handler.
void start_papi_events(Thread* thread);
/// Stops them and gives them back. Not from a handler.
void stop_papi_events(Thread* thread);

/// Around a fork: no thread is inside PAPI while the process is copied.
void hold_papi();
void release_papi();
/// In the child: gives back what the parent's threads had and starts PAPI anew, before any thread's events.
void restart_papi();

/// True while the calling thread lets PAPI install its handler.
bool papi_installs_handler();
/// What takes the place of PAPI's handler for `signal`; remembers it.
struct sigaction take_papi_handler(int signal, const struct sigaction& action);

}  // namespace culprit::runtime
