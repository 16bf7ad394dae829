#include "fake_module.hpp"
#include "unwind/rule.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Any bytes as a load module's .eh_frame_hdr with .eh_frame, and as the instructions of one function in
// tables that are in order: rules are compiled without a read outside of the module, whose end is followed by
// a page that nobody may read.
namespace {

namespace unwind = culprit::unwind;
using unwind::testing::FakeModule;

constexpr std::uint64_t kFunction = 0x100, kFunctionSize = 0x2000, kStep = 0x200;
constexpr std::size_t kMostInstructions = 0x1000;

void compile(const FakeModule& fake) {
  static unwind::RowWorkspace workspace;
  for (std::uint64_t at = 0; at < FakeModule::kCodeSize; at += kStep)
    unwind::compile_rule(fake.module(), fake.at(at + kFunction + 3), workspace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FakeModule raw;
  const auto room = static_cast<std::size_t>(raw.module().end - raw.at(FakeModule::kCodeSize));
  const std::size_t used = std::min(size, room);
  if (used != 0) std::memcpy(raw.bytes() + FakeModule::kCodeSize, data, used);
  compile(raw);
  FakeModule ordered;
  ordered.add(kFunction, kFunctionSize, {data, data + std::min(size, kMostInstructions)});
  ordered.finish();
  compile(ordered);
  return 0;
}
