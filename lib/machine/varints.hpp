#pragma once

// The processor's way with varints. Apart from machine.hpp: these instructions use vector registers, which a
// signal's handler leaves alone.
#if defined(__x86_64__)
#include "machine/x86_64/varints.hpp"
#elif defined(__aarch64__)
#include "machine/aarch64/varints.hpp"
#endif
