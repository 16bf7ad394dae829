#include "unwind/callee.hpp"

#include "unwind/call_frame.hpp"
#include "unwind/code_shapes.hpp"

namespace culprit::unwind {
namespace {

/// Whether `place` lies in the function that begins at `begin`.
bool is_in_function(const CodeModule& module, std::uint64_t begin, std::uint64_t place) noexcept {
  FrameDescription function;
  return place >= module.begin && place < module.end && find_description(module, place, function) &&
         function.code_begin == begin;
}

}  // namespace

std::uint64_t place_in_callee(FindModule find, void* context, std::uint64_t return_to,
                              std::uint64_t earlier) noexcept {
  CodeModule caller, callee;
  if (!find(context, return_to, caller)) return 0;
  CodeBytes code(&caller, return_to);
  std::uint64_t target = 0;
  if (names_callee(code, target)) {
    target = through_stub(caller, target);
    const bool known = find(context, target, callee);
    if (known && callee.own) return 0;
    // The end of another instruction may look like such a call, but hardly leads to where a function begins.
    if (known && is_in_function(callee, target, target))
      return is_in_function(callee, target, earlier) ? earlier : target;
  }
  const bool other =
      earlier != 0 && find(context, earlier, callee) && !callee.own && callee.index != caller.index;
  CodeBytes again(&caller, return_to);
  return other && follows_call(again) ? earlier : 0;
}

}  // namespace culprit::unwind
