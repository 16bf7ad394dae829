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

// Signals whose default action ends the program, where the runtime has something to do before.
namespace culprit::runtime {

/// Takes the default action's place in the program's eyes: sigaction shows the default action, and setting
/// that sets the guard. Called with all signals blocked but the C library's own, on the program's alternate
/// stack if it has one.
using Guard = void (*)(int signal, siginfo_t* info, void* context);

/// By a guard that has done what it is for: the default action follows when it returns, in what it
/// interrupted.
void take_default_action(int signal, siginfo_t* info);

/// Guards the default action of `signal`, if that is what the program left it, and whenever it sets that
/// again. From the constructor.
void guard_default_action(int signal, Guard guard);
/// Gives the default action back.
void leave_default_action(int signal);
bool is_guarded(int signal);
/// Whether this action of the kernel's for `signal` is the default one in the program's eyes.
bool takes_default_action(int signal, const struct sigaction& action);

/// The program's sigaction for a guarded signal; false: this one is not.
using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
bool change_guarded(Sigaction real, int signal, const struct sigaction* action, struct sigaction* before,
                    int& result);

/// Guards SIGIO, which the kernel sends in place of a counter's signal where the user's queue of real-time
/// signals is full (fcntl(2), F_SETSIG). From the constructor, where events are sampled that send signals by
/// descriptors.
void guard_against_full_queue();

}  // namespace culprit::runtime
