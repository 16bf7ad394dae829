#include "unwind/rule_cache.hpp"

#include "fake_module.hpp"

#include <cstdint>
#include <memory>

#include <catch2/catch.hpp>

namespace rule_cache_test {

using culprit::unwind::CodeModule;
using culprit::unwind::Rule;
using culprit::unwind::RuleCache;
using culprit::unwind::testing::Cfi;
using culprit::unwind::testing::FakeModule;

namespace {

constexpr std::uint64_t kBegin = 0x100;
constexpr unsigned kRows = 200;
constexpr unsigned kRowSize = 32;

/// A function whose rows differ in their CFA.
struct Function {
  Function() {
    Cfi rows;
    for (unsigned i = 1; i < kRows; ++i) rows.advance(kRowSize).def_cfa_offset(offset(i));
    fake.add(kBegin, std::uint64_t{kRows} * kRowSize, rows.bytes);
    fake.finish();
  }
  static std::uint64_t offset(unsigned row) { return 8 + std::uint64_t{8} * row; }
  [[nodiscard]] std::uint64_t pc(unsigned row) const { return fake.at(kBegin + row * kRowSize + 1); }
  static bool find(void* context, std::uint64_t pc, CodeModule& module) {
    auto* self = static_cast<Function*>(context);
    ++self->asked;
    return FakeModule::find(&self->fake, pc, module);
  }

  FakeModule fake;
  unsigned asked = 0;  ///< rules that were compiled
};

}  // namespace

TEST_CASE("a cache that began small has the right rules when it has grown, and keeps them") {
  Function function;
  const auto cache = std::make_unique<RuleCache>();
  cache->clear();
  for (int pass = 0; pass < 3; ++pass) {
    function.asked = 0;
    for (unsigned row = 0; row < kRows; ++row) {
      const Rule& rule = cache->rule_at(Function::find, &function, function.pc(row));
      REQUIRE(rule.cfa_offset == static_cast<std::int32_t>(Function::offset(row)));
      REQUIRE(cache->module(rule.module).begin == function.fake.module().begin);
    }
    if (pass == 0) CHECK(function.asked == kRows);
  }
  CHECK(function.asked < kRows / 10);
  cache->clear();
  function.asked = 0;
  (void)cache->rule_at(Function::find, &function, function.pc(0));
  CHECK(function.asked == 1);
}

}  // namespace rule_cache_test
