#pragma once

// The processor that this is built for. A new one is a new folder with these files, and a line here.
#if defined(__x86_64__)
#include "machine/x86_64/this_machine.hpp"
#elif defined(__aarch64__)
#include "machine/aarch64/this_machine.hpp"
#else
#error "Culprit knows x86-64 and aarch64 (add a folder beside lib/machine/x86_64)"
#endif
