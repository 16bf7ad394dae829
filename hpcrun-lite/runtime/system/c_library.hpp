#pragma once

#include <csignal>

namespace culprit::runtime {

/// Has every call of the runtime's that leaves it end in the C library itself, whoever stands before that
/// (sanitizers, libraries that the user preloads): the handler and the flusher thread may not enter their
/// code, which allocates, locks, and dies in a thread that it does not know. What the runtime passes on for
/// the program goes by Real, and through all of them. At the start of the process.
void bind_to_c_library();

/// As sigaction, for a handler of the runtime's own: nobody else learns of it. ThreadSanitizer would call it
/// later, elsewhere, with the registers of the moment that is gone.
int set_own_action(int signal, const struct sigaction* action, struct sigaction* before);

}  // namespace culprit::runtime
