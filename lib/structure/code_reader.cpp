// Makes the flow graph of a procedure (docs/algorithms.md 15): decodes its instructions, and follows jump
// tables, exception handlers and calls that never return. Cost: one decoding of each instruction; for a
// computed jump up to 4096 before it are decoded anew (jump_tables.cpp). Procedures of more than 16 MiB,
// which damage claims, are not read.
#include "structure/code_reader.hpp"

#include "structure/frames.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <dwarf.h>

namespace culprit::structure {
namespace {

/// No procedure is larger; what claims to be is damaged.
constexpr std::uint64_t kMostCode = std::uint64_t{16} << 20;

/// Functions that end the program or the flow, of the C, C++ and Fortran run-time libraries. Sorted.
constexpr std::array kNeverReturn = std::to_array<std::string_view>({
    "_Exit",
    "_Unwind_Resume",
    "_ZSt10unexpectedv",
    "_ZSt16__throw_bad_castv",
    "_ZSt17__throw_bad_allocv",
    "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    "_ZSt19__throw_logic_errorPKc",
    "_ZSt19__throw_range_errorPKc",
    "_ZSt20__throw_length_errorPKc",
    "_ZSt20__throw_out_of_rangePKc",
    "_ZSt20__throw_system_errori",
    "_ZSt21__throw_runtime_errorPKc",
    "_ZSt24__throw_invalid_argumentPKc",
    "_ZSt24__throw_out_of_range_fmtPKcz",
    "_ZSt25__throw_bad_function_callv",
    "_ZSt28__throw_bad_array_new_lengthv",
    "_ZSt9terminatev",
    "__assert_fail",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_call_unexpected",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__libc_fatal",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_stop_numeric",
    "_gfortran_stop_string",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
});
static_assert(std::ranges::is_sorted(kNeverReturn));

/// The exception handlers and clean-ups of one function's code, from its language-specific data (the
/// call-site table that gcc and clang write for C++, Fortran and Ada). Damaged tables end early.
std::vector<Handler> landing_pads(const Module& module, const Frame& frame) {
  std::vector<Handler> handlers;
  if (frame.handlers == 0) return handlers;
  EncodedBytes in(module.bytes(frame.handlers), frame.handlers);
  std::uint64_t base = frame.range.low;
  if (const auto encoding = in.get<std::uint8_t>(); encoding != DW_EH_PE_omit) base = in.pointer(encoding);
  if (in.get<std::uint8_t>() != DW_EH_PE_omit) in.get_varint();  // where the type table ends
  const auto encoding = in.get<std::uint8_t>();
  const std::uint64_t length = in.get_varint();
  const std::size_t behind = in.remaining() - std::min<std::uint64_t>(length, in.remaining());
  while (in.good() && in.remaining() > behind) {
    const std::uint64_t start = frame.range.low + in.pointer(encoding, false);
    const std::uint64_t size = in.pointer(encoding, false);
    const std::uint64_t pad = in.pointer(encoding, false);
    in.get_varint();  // the action
    if (in.good() && pad != 0) handlers.push_back({{start, start + size}, base + pad});
  }
  return handlers;
}

}  // namespace

CodeReader::CodeReader(const Module& module, const FunctionBounds& bounds)
    : module_(module), bounds_(bounds), decoder_(module), tables_(module, decoder_) {}

bool CodeReader::never_returns(std::uint64_t callee) {
  const auto [known, added] = never_returns_.try_emplace(callee, false);
  if (!added) return known->second;
  std::string name;
  if (const auto stub = bounds_.stubs().find(callee)) {
    name = stub->callee;
  } else if (const Symbol* symbol = bounds_.symbols().at(callee)) {
    name = symbol->name;
  }
  const std::string_view plain = std::string_view(name).substr(0, name.find('@', name.empty() ? 0 : 1));
  return known->second = std::ranges::binary_search(kNeverReturn, plain);
}

FlowGraph CodeReader::read(const std::vector<Range>& ranges) {
  FlowGraph::Surroundings surroundings;
  surroundings.never_returns = [this](std::uint64_t callee) { return never_returns(callee); };
  surroundings.jump_targets = [this](std::span<const Instruction> instructions, std::size_t jump) {
    return tables_.targets(instructions, jump);
  };
  std::uint64_t code = 0;
  for (const Range& range : ranges) {
    code += range.high - range.low;
    const Frame* frame = bounds_.frames().find(range.low);
    if (frame == nullptr) continue;
    const std::vector<Handler> pads = landing_pads(module_, *frame);
    surroundings.handlers.insert(surroundings.handlers.end(), pads.begin(), pads.end());
  }
  return FlowGraph(decoder_, code > kMostCode ? std::vector<Range>{} : ranges, surroundings);
}

}  // namespace culprit::structure
