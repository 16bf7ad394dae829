#pragma once

// Functions in assembly, as text for __asm__(), which their owners place and describe.

/// culprit_start_kernel_thread (runtime/system/own_stack.hpp). The numbers are those of clone and of
/// exit. The new thread has no caller, and says so.
#define CULPRIT_START_KERNEL_THREAD                  \
  "  .text\n"                                        \
  "  .p2align 4\n"                                   \
  "  .hidden culprit_start_kernel_thread\n"          \
  "  .globl culprit_start_kernel_thread\n"           \
  "  .type culprit_start_kernel_thread, %function\n" \
  "culprit_start_kernel_thread:\n"                   \
  "  .cfi_startproc\n"                               \
  "  hint #34\n"                                     \
  "  mov x5, x3\n"                                   \
  "  mov x3, x4\n"                                   \
  "  mov x4, xzr\n"                                  \
  "  mov x8, #220\n"                                 \
  "  svc #0\n"                                       \
  "  cbz x0, 1f\n"                                   \
  "  ret\n"                                          \
  "1:\n"                                             \
  "  .cfi_undefined x30\n"                           \
  "  mov x29, xzr\n"                                 \
  "  mov x30, xzr\n"                                 \
  "  blr x5\n"                                       \
  "  mov x8, #93\n"                                  \
  "  svc #0\n"                                       \
  "  brk #0\n"                                       \
  "  .cfi_endproc\n"                                 \
  "  .size culprit_start_kernel_thread, . - culprit_start_kernel_thread\n"

/// culprit_call_on_stack (runtime/system/own_stack.hpp). With call-frame information, so that a debugger
/// sees past the change of stacks.
#define CULPRIT_CALL_ON_STACK                  \
  "  .text\n"                                  \
  "  .p2align 4\n"                             \
  "  .hidden culprit_call_on_stack\n"          \
  "  .globl culprit_call_on_stack\n"           \
  "  .type culprit_call_on_stack, %function\n" \
  "culprit_call_on_stack:\n"                   \
  "  .cfi_startproc\n"                         \
  "  hint #34\n"                               \
  "  stp x29, x30, [sp, #-16]!\n"              \
  "  .cfi_def_cfa_offset 16\n"                 \
  "  .cfi_offset x29, -16\n"                   \
  "  .cfi_offset x30, -8\n"                    \
  "  mov x29, sp\n"                            \
  "  .cfi_def_cfa_register x29\n"              \
  "  mov sp, x2\n"                             \
  "  blr x1\n"                                 \
  "  mov sp, x29\n"                            \
  "  .cfi_def_cfa_register sp\n"               \
  "  ldp x29, x30, [sp], #16\n"                \
  "  .cfi_def_cfa_offset 0\n"                  \
  "  .cfi_restore x29\n"                       \
  "  .cfi_restore x30\n"                       \
  "  ret\n"                                    \
  "  .cfi_endproc\n"                           \
  "  .size culprit_call_on_stack, . - culprit_call_on_stack\n"

/// syscall(): to culprit_watched_call where culprit_watched_calls says so, else to the C library's function,
/// with registers and stack as they came (runtime/interpose/waits_syscall.cpp).
#define CULPRIT_SYSCALL_ENTRY                      \
  "  .text\n"                                      \
  "  .p2align 4\n"                                 \
  "  .globl syscall\n"                             \
  "  .type syscall, %function\n"                   \
  "syscall:\n"                                     \
  "  .cfi_startproc\n"                             \
  "  hint #34\n"                                   \
  "  cmp x0, #512\n"                               \
  "  b.hs 1f\n"                                    \
  "  adrp x16, culprit_watched_calls\n"            \
  "  add x16, x16, :lo12:culprit_watched_calls\n"  \
  "  ldrb w16, [x16, x0]\n"                        \
  "  cbnz w16, culprit_watched_call\n"             \
  "1:\n"                                           \
  "  adrp x16, culprit_real_syscall\n"             \
  "  ldr x16, [x16, :lo12:culprit_real_syscall]\n" \
  "  cbz x16, culprit_first_call\n"                \
  "  br x16\n"                                     \
  "  .cfi_endproc\n"                               \
  "  .size syscall, . - syscall\n"

/// MPI_Pcontrol and PMPI_Pcontrol (mpi/pcontrol.cpp): asks culprit_obey_NAME where to go on, and keeps all
/// registers that arguments are passed in.
#define CULPRIT_PCONTROL_ENTRY(name)     \
  "  .text\n"                            \
  "  .p2align 2\n"                       \
  "  .globl " #name                      \
  "\n"                                   \
  "  .type " #name ", %function\n" #name \
  ":\n"                                  \
  "  .cfi_startproc\n"                   \
  "  hint #34\n"                         \
  "  stp x29, x30, [sp, #-224]!\n"       \
  "  .cfi_def_cfa_offset 224\n"          \
  "  .cfi_offset x29, -224\n"            \
  "  .cfi_offset x30, -216\n"            \
  "  mov x29, sp\n"                      \
  "  stp x0, x1, [sp, #16]\n"            \
  "  stp x2, x3, [sp, #32]\n"            \
  "  stp x4, x5, [sp, #48]\n"            \
  "  stp x6, x7, [sp, #64]\n"            \
  "  str x8, [sp, #80]\n"                \
  "  stp q0, q1, [sp, #96]\n"            \
  "  stp q2, q3, [sp, #128]\n"           \
  "  stp q4, q5, [sp, #160]\n"           \
  "  stp q6, q7, [sp, #192]\n"           \
  "  bl culprit_obey_" #name             \
  "\n"                                   \
  "  mov x16, x0\n"                      \
  "  ldp x0, x1, [sp, #16]\n"            \
  "  ldp x2, x3, [sp, #32]\n"            \
  "  ldp x4, x5, [sp, #48]\n"            \
  "  ldp x6, x7, [sp, #64]\n"            \
  "  ldr x8, [sp, #80]\n"                \
  "  ldp q0, q1, [sp, #96]\n"            \
  "  ldp q2, q3, [sp, #128]\n"           \
  "  ldp q4, q5, [sp, #160]\n"           \
  "  ldp q6, q7, [sp, #192]\n"           \
  "  ldp x29, x30, [sp], #224\n"         \
  "  .cfi_def_cfa_offset 0\n"            \
  "  .cfi_restore x29\n"                 \
  "  .cfi_restore x30\n"                 \
  "  br x16\n"                           \
  "  .cfi_endproc\n"                     \
  "  .size " #name ", . - " #name "\n"
