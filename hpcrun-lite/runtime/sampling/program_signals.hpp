#pragma once

#include "runtime/system/real.hpp"
#include "runtime/system/system_calls.hpp"

#include <csignal>

// What the program believes of the sampling signals, which are ours: the handlers that it gave them, and
// whether it blocks them. The interposed functions keep these (interpose/signal_actions.cpp and
// signal_masks.cpp).
namespace culprit::runtime {

/// Handles a signal of our number, or of PAPI's, that no event of ours sent, as the program asked for.
/// Without a handler of the program's own it is ignored.
void act_in_shadow(int signal, siginfo_t* info, void* context);

/// The program's action for a sampling signal, all zero where it gave none; null where the signal is its own.
struct sigaction* shadow_of(int signal);

/// The C library's, or whose that stands before it.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is constant-initialized
extern Real<int(int, const struct sigaction*, struct sigaction*)> real_sigaction;

/// The sampling signals that the program believes blocked in the calling thread: a new thread begins with its
/// creator's.
KernelMask blocked_by_program();
void set_blocked_by_program(KernelMask blocked);

}  // namespace culprit::runtime

// Where the user's queue of real-time signals is full, the kernel sends SIGIO in place of a counter's signal
// (fcntl(2), F_SETSIG). Its default action would end the program.
namespace culprit::runtime {

/// Takes SIGIO's default action away, if that is what the program left it. From the constructor, where events
/// are sampled that send signals by descriptors.
void guard_against_full_queue();

/// The program's sigaction for SIGIO: it may have any handler it likes, and what it sees as the default
/// action is our guard. False: nothing is guarded, or another signal is meant.
using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
bool change_guarded(Sigaction real, int signal, const struct sigaction* action, struct sigaction* before,
                    int& result);

}  // namespace culprit::runtime
