#include "runtime/system/handler_stack.hpp"

// With call-frame information, so that a debugger sees past the change of stacks.
__asm__(R"(
  .text
  .p2align 4
  .hidden culprit_call_on_stack
  .globl culprit_call_on_stack
  .type culprit_call_on_stack, @function
culprit_call_on_stack:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdx, %rsp
  call *%rsi
  mov %rbp, %rsp
  pop %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size culprit_call_on_stack, . - culprit_call_on_stack
)");
