#pragma once

// All of x86_64 at once: by machine.hpp only.
#include "machine/x86_64/bits.hpp"
#include "machine/x86_64/call_frames.hpp"
#include "machine/x86_64/clock.hpp"
#include "machine/x86_64/elf.hpp"
#include "machine/x86_64/entries.hpp"
#include "machine/x86_64/interrupted.hpp"
#include "machine/x86_64/stopped.hpp"
#include "machine/x86_64/system_call.hpp"
#include "machine/x86_64/thread_control.hpp"
#include "machine/x86_64/wide.hpp"

namespace culprit::machine {

using This = X86_64;

}  // namespace culprit::machine
