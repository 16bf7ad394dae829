#pragma once

#include <csignal>

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
