#include "runtime/system/kernel_thread.hpp"

// The numbers are those of clone and of exit. The new thread has no caller, and says so.
__asm__(R"(
  .text
  .p2align 4
  .hidden culprit_start_kernel_thread
  .globl culprit_start_kernel_thread
  .type culprit_start_kernel_thread, @function
culprit_start_kernel_thread:
  .cfi_startproc
  mov %rcx, %r9
  xor %r10d, %r10d
  mov $56, %eax
  syscall
  test %rax, %rax
  jz 1f
  ret
1:
  .cfi_undefined %rip
  xor %ebp, %ebp
  call *%r9
  mov %eax, %edi
  mov $60, %eax
  syscall
  hlt
  .cfi_endproc
  .size culprit_start_kernel_thread, . - culprit_start_kernel_thread
)");
