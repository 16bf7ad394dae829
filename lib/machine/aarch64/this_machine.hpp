#pragma once

// All of aarch64 at once: by machine.hpp only.
#include "machine/aarch64/bits.hpp"
#include "machine/aarch64/call_frames.hpp"
#include "machine/aarch64/clock.hpp"
#include "machine/aarch64/elf.hpp"
#include "machine/aarch64/entries.hpp"
#include "machine/aarch64/interrupted.hpp"
#include "machine/aarch64/stopped.hpp"
#include "machine/aarch64/system_call.hpp"
#include "machine/aarch64/thread_control.hpp"
#include "machine/aarch64/wide.hpp"

namespace culprit::machine {

using This = Aarch64;

}  // namespace culprit::machine
