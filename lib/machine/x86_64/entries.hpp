#pragma once

// Functions in assembly, as text for __asm__(), which their owners place and describe.

/// culprit_start_kernel_thread (runtime/system/own_stack.hpp). The numbers are those of clone and of
/// exit. The new thread has no caller, and says so.
#define CULPRIT_START_KERNEL_THREAD                  \
  "  .text\n"                                        \
  "  .p2align 4\n"                                   \
  "  .hidden culprit_start_kernel_thread\n"          \
  "  .globl culprit_start_kernel_thread\n"           \
  "  .type culprit_start_kernel_thread, @function\n" \
  "culprit_start_kernel_thread:\n"                   \
  "  .cfi_startproc\n"                               \
  "  mov %rcx, %r9\n"                                \
  "  xor %r10d, %r10d\n"                             \
  "  mov $56, %eax\n"                                \
  "  syscall\n"                                      \
  "  test %rax, %rax\n"                              \
  "  jz 1f\n"                                        \
  "  ret\n"                                          \
  "1:\n"                                             \
  "  .cfi_undefined %rip\n"                          \
  "  xor %ebp, %ebp\n"                               \
  "  call *%r9\n"                                    \
  "  mov %eax, %edi\n"                               \
  "  mov $60, %eax\n"                                \
  "  syscall\n"                                      \
  "  hlt\n"                                          \
  "  .cfi_endproc\n"                                 \
  "  .size culprit_start_kernel_thread, . - culprit_start_kernel_thread\n"

/// culprit_call_on_stack (runtime/system/own_stack.hpp). With call-frame information, so that a debugger
/// sees past the change of stacks.
#define CULPRIT_CALL_ON_STACK                  \
  "  .text\n"                                  \
  "  .p2align 4\n"                             \
  "  .hidden culprit_call_on_stack\n"          \
  "  .globl culprit_call_on_stack\n"           \
  "  .type culprit_call_on_stack, @function\n" \
  "culprit_call_on_stack:\n"                   \
  "  .cfi_startproc\n"                         \
  "  push %rbp\n"                              \
  "  .cfi_def_cfa_offset 16\n"                 \
  "  .cfi_offset %rbp, -16\n"                  \
  "  mov %rsp, %rbp\n"                         \
  "  .cfi_def_cfa_register %rbp\n"             \
  "  mov %rdx, %rsp\n"                         \
  "  call *%rsi\n"                             \
  "  mov %rbp, %rsp\n"                         \
  "  pop %rbp\n"                               \
  "  .cfi_def_cfa %rsp, 8\n"                   \
  "  ret\n"                                    \
  "  .cfi_endproc\n"                           \
  "  .size culprit_call_on_stack, . - culprit_call_on_stack\n"

/// syscall(): to culprit_watched_call where culprit_watched_calls says so, else to the C library's function,
/// with registers and stack as they came (runtime/interpose/waits_syscall.cpp).
#define CULPRIT_SYSCALL_ENTRY                 \
  "  .text\n"                                 \
  "  .p2align 4\n"                            \
  "  .globl syscall\n"                        \
  "  .type syscall, @function\n"              \
  "syscall:\n"                                \
  "  .cfi_startproc\n"                        \
  "  cmp $512, %rdi\n"                        \
  "  jae 1f\n"                                \
  "  lea culprit_watched_calls(%rip), %rax\n" \
  "  cmpb $0, (%rax, %rdi)\n"                 \
  "  jne culprit_watched_call\n"              \
  "1:\n"                                      \
  "  mov culprit_real_syscall(%rip), %rax\n"  \
  "  test %rax, %rax\n"                       \
  "  je culprit_first_call\n"                 \
  "  jmp *%rax\n"                             \
  "  .cfi_endproc\n"                          \
  "  .size syscall, . - syscall\n"

/// MPI_Pcontrol and PMPI_Pcontrol (mpi/pcontrol.cpp): asks culprit_obey_NAME where to go on, and keeps all
/// registers that arguments are passed in (of the vector registers, what a variadic call uses).
#define CULPRIT_PCONTROL_ENTRY(name)   \
  ".text\n"                            \
  ".globl " #name                      \
  "\n"                                 \
  ".type " #name ", @function\n" #name \
  ":\n"                                \
  ".cfi_startproc\n"                   \
  "endbr64\n"                          \
  "subq $184, %rsp\n"                  \
  ".cfi_adjust_cfa_offset 184\n"       \
  "movq %rdi, (%rsp)\n"                \
  "movq %rsi, 8(%rsp)\n"               \
  "movq %rdx, 16(%rsp)\n"              \
  "movq %rcx, 24(%rsp)\n"              \
  "movq %r8, 32(%rsp)\n"               \
  "movq %r9, 40(%rsp)\n"               \
  "movq %rax, 48(%rsp)\n"              \
  "movups %xmm0, 56(%rsp)\n"           \
  "movups %xmm1, 72(%rsp)\n"           \
  "movups %xmm2, 88(%rsp)\n"           \
  "movups %xmm3, 104(%rsp)\n"          \
  "movups %xmm4, 120(%rsp)\n"          \
  "movups %xmm5, 136(%rsp)\n"          \
  "movups %xmm6, 152(%rsp)\n"          \
  "movups %xmm7, 168(%rsp)\n"          \
  "call culprit_obey_" #name           \
  "\n"                                 \
  "movq %rax, %r11\n"                  \
  "movq (%rsp), %rdi\n"                \
  "movq 8(%rsp), %rsi\n"               \
  "movq 16(%rsp), %rdx\n"              \
  "movq 24(%rsp), %rcx\n"              \
  "movq 32(%rsp), %r8\n"               \
  "movq 40(%rsp), %r9\n"               \
  "movq 48(%rsp), %rax\n"              \
  "movups 56(%rsp), %xmm0\n"           \
  "movups 72(%rsp), %xmm1\n"           \
  "movups 88(%rsp), %xmm2\n"           \
  "movups 104(%rsp), %xmm3\n"          \
  "movups 120(%rsp), %xmm4\n"          \
  "movups 136(%rsp), %xmm5\n"          \
  "movups 152(%rsp), %xmm6\n"          \
  "movups 168(%rsp), %xmm7\n"          \
  "addq $184, %rsp\n"                  \
  ".cfi_adjust_cfa_offset -184\n"      \
  "jmp *%r11\n"                        \
  ".cfi_endproc\n"                     \
  ".size " #name ", . - " #name "\n"
