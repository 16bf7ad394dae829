// MPI_Pcontrol, MPI's own way to make a profiler stop (level 0) and go on (level 1 or 2). The real
// function is entered by a jump, with registers and stack as they came: only the caller knows how many
// further arguments there are, and of what types.
#include "mpi/prototypes.hpp"
#include "mpi/real_call.hpp"
#include "runtime/api.hpp"

namespace {

using Pcontrol = culprit::mpi::RealCall<int(int)>;

void* obey(int level, Pcontrol& real) {
  culprit_rt_control_level(level);
  return reinterpret_cast<void*>(real.get());
}

}  // namespace

// Called from the code below; they return the function to go on with.
extern "C" {
__attribute__((visibility("hidden"), used)) void* culprit_obey_MPI_Pcontrol(int level) {
  static CULPRIT_REAL_CALL Pcontrol real{"MPI_Pcontrol"};
  return obey(level, real);
}
__attribute__((visibility("hidden"), used)) void* culprit_obey_PMPI_Pcontrol(int level) {
  static CULPRIT_REAL_CALL Pcontrol real{"PMPI_Pcontrol"};
  return obey(level, real);
}
}

// Keeps all registers that arguments are passed in (of the vector registers, what a variadic call uses).
#define CULPRIT_PCONTROL(name)             \
  __asm__(                                 \
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
      ".size " #name ", . - " #name "\n")

CULPRIT_PCONTROL(MPI_Pcontrol);
CULPRIT_PCONTROL(PMPI_Pcontrol);
