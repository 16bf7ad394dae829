#include "runtime/system/handler_stack.hpp"

#include "machine/machine.hpp"

__asm__(CULPRIT_CALL_ON_STACK);
