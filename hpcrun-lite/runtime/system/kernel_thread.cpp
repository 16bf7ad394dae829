#include "runtime/system/kernel_thread.hpp"

#include "machine/machine.hpp"

__asm__(CULPRIT_START_KERNEL_THREAD);
