// Code that runs on a stack of the runtime's own: the handler's, and that of the flusher thread.
#include "runtime/system/own_stack.hpp"

#include "machine/machine.hpp"

__asm__(CULPRIT_CALL_ON_STACK);
__asm__(CULPRIT_START_KERNEL_THREAD);
