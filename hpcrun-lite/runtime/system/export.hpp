#pragma once

// Everything in the preloaded libraries is hidden but what carries this mark: the interposed functions, and
// what the MPI wrappers need from the runtime.
#define CULPRIT_EXPORT extern "C" __attribute__((visibility("default")))
