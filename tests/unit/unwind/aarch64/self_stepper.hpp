#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

// Walks at every instruction that this program executes, by three unwinders: a walker that splices, one that
// walks afresh, and libunwind. The truth is a shadow stack of the calls and signals that were seen. An
// emulator cannot trace processes, so the program steps through itself: a breakpoint is put at wherever the
// next instruction leads, and the handler of SIGTRAP, on a stack of its own, asks all three, looks where the
// next one leads, and moves on. Pairs of exclusive loads and stores are passed in one step, as nothing may
// come between.
namespace culprit::unwind::testing {

/// Code addresses where answers differ from the truth.
class Places {
 public:
  void add(std::uint64_t pc);
  [[nodiscard]] long count() const { return count_; }
  /// Each with how often, by module and offset.
  [[nodiscard]] std::string text() const;

 private:
  struct Place {
    std::uint64_t pc;
    long count;
  };
  std::array<Place, 64> places_;
  std::size_t used_;
  long count_;
};

struct Stepped {
  long result;  ///< what the part gave
  long steps, frames, reused, bridged;
  long interrupted;  ///< steps below a signal's handler, and in the kernel's return from it
  long leaving;      ///< of these, in the kernel's return
  long binding;      ///< steps in the dynamic linker, on its way to a function that was called
  long reference;    ///< libunwind's answer is not the truth
  long bare;         ///< steps in code without call-frame information: stubs and veneers
  long is_signed;    ///< steps while the link register holds a signed address
  Places differing;  ///< the spliced walk is not the fresh one
  Places partial, wrong;
  Places unexplained;  ///< libunwind's answer is not the truth, and nothing there is beyond it
};

/// Runs part(number), and steps through what it does between begin_stepping() and end_stepping().
const Stepped& step_through(long (*part)(long), long number);

/// In the part, at the same depth of the stack.
[[gnu::always_inline]] inline void begin_stepping() {
  asm volatile("brk #0" : : : "memory");
}
void end_stepping();

/// Has the program handle a signal by a function that is stepped into. `flags`: SA_ONSTACK, or none.
void handle(int signal, int flags, void (*handler)(int, siginfo_t*, void*));

}  // namespace culprit::unwind::testing
