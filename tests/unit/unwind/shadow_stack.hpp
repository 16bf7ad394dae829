#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/user.h>

// The truth about a single-stepped thread's call stack, kept by watching it: a return address is pushed at
// each call and gone after each ret, whatever the call-frame information says. Never allocates: it runs while
// the stepped program may hold any lock.
namespace culprit::unwind::testing {

using ThreadState = user_regs_struct;

/// Stacks that a thread switches to: alternate signal stacks and coroutines. Registered by the program before
/// it uses them; anything else counts as the thread's own.
struct ForeignStack {
  std::uint64_t low, high;
};
inline constexpr std::size_t kMaxForeignStacks = 6;
extern ForeignStack foreign_stacks[kMaxForeignStacks];

/// Tells the shadow stacks of a buffer that will be used as a stack.
void register_foreign_stack(const void* low, std::size_t size);

/// The code that a coroutine's function returns to (glibc's __start_context, which has no name to look up).
/// Its call-frame information claims a caller.
extern std::uint64_t coroutine_end;

class ShadowStack {
 public:
  static constexpr std::size_t kMaxFrames = 512;

  /// What the stack is at one instruction.
  struct Truth {
    std::uint64_t pc[kMaxFrames];  ///< innermost first, as unwinders give them
    std::size_t depth = 0;
    bool whole = false;  ///< false: what lies outside of these frames was there before watching began
  };

  /// Watching begins in the middle of a thread (`whole`: at its very first instruction).
  void begin(const ThreadState& state, bool whole);

  /// A signal is about to be delivered: the next stop is the handler's first instruction.
  void expect_handler() { handler_expected_ = true; }

  /// One instruction was executed since `before`.
  void advance(const ThreadState& before, const ThreadState& now);

  /// The thread ran unwatched and is back in a frame that was known before, if all was.
  void resume(const ThreadState& now);

  void truth(const ThreadState& now, Truth& truth) const;

 private:
  struct Record {
    std::uint64_t slot;     ///< where the return address lies; for an interruption, the ucontext
    std::uint64_t address;  ///< the return address while it is held in a register (`lifted`)
    bool lifted;            ///< popped into a register, and may be pushed again (vfork does so)
    bool interruption;
  };
  static constexpr std::size_t kMaxRecords = 512;
  struct Stack {
    Record records[kMaxRecords];  // slots descend
    std::size_t count;
  };

  [[nodiscard]] static std::size_t stack_of(std::uint64_t sp);
  void push(std::uint64_t slot, bool interruption);
  void drop_below(std::uint64_t sp);
  bool enter_handler(const ThreadState& before, const ThreadState& now);

  Stack stacks_[kMaxForeignStacks + 1];
  std::uint64_t base_;  // own stack: slots from here on are not known
  bool whole_;
  bool handler_expected_;
};

/// What kind of instruction lies at `pc`, as far as the shadow stack cares.
enum class Transfer { none, call, ret, pop, push, jump_register, trap, system_call };
Transfer transfer_at(std::uint64_t pc);

}  // namespace culprit::unwind::testing
