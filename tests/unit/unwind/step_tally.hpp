#pragma once

#include "shadow_stack.hpp"
#include "unwind/walker.hpp"

#include <cstddef>
#include <cstdint>

// What the steps of a program have shown.
namespace culprit::unwind::testing {

/// What was seen at one instruction.
struct Observation {
  const ShadowStack::Truth& truth;
  const Walk& spliced;
  const Walk& fresh;
  const std::uint64_t* reference;
  std::size_t reference_depth;
};

/// Counts and classifies answers that differ, with the first example of each class and the places where they
/// do. Lives in zeroed memory, never allocates.
class StepTally {
 public:
  void begin_part(const char* name) { part_ = name; }
  void add(const Observation& seen);

  /// Prints the counts, and the rest where something is wrong. True: nothing is. Allocates: only when the
  /// program is over.
  [[nodiscard]] bool report() const;

 private:
  enum Class : unsigned {
    splice,     ///< the spliced walk differs from the fresh one
    partial,    ///< ours stopped early
    wrong,      ///< ours differs from the truth
    replaced,   ///< ours differs while a frame is being replaced, which call-frame information cannot say
    bare,       ///< partial or wrong in code without call-frame information, which was asked for
    reference,  ///< libunwind's differs from the truth, ours does not
    kClasses
  };
  static constexpr std::size_t kPlaces = 2048;  // code addresses where answers differ, per program
  static constexpr std::size_t kExample = 24;   // frames of an example

  struct Stack {
    std::uint64_t pc[kExample];
    std::size_t depth;
  };
  struct Example {
    const char* part;
    Stack truth, ours, reference;
  };
  struct Place {
    std::uint64_t pc;
    long count;
    Class what;
  };

  [[nodiscard]] bool classify(const Observation& seen, Class& what) const;
  void note(Class what, const Observation& seen);
  void print_places(Class what) const;
  static void print_example(const Example& example);
  static void keep(Stack& stack, const std::uint64_t* pc, std::size_t depth);

  const char* part_;
  long steps_, frames_, reused_, bridged_;
  long counts_[kClasses];
  Example examples_[kClasses];
  Place places_[kPlaces];
  std::size_t place_count_;
};

}  // namespace culprit::unwind::testing
