#pragma once

#include <csignal>

namespace culprit::runtime {

/// Handles a signal of our number, or of PAPI's, that no event of ours sent, as the program asked for.
/// Without a handler of the program's own it is ignored.
void act_in_shadow(int signal, siginfo_t* info, void* context);

}  // namespace culprit::runtime
