#include "unwind/expression.hpp"

#include "fake_module.hpp"

#include <cstring>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace expression_test {

using namespace culprit::unwind;
using namespace culprit::unwind::testing;

namespace {

using Form = ExpressionValue::Form;

// Register n holds 1000 + n; the word at address a is a + 1, cut to its size.
class Numbers final : public ExpressionInput {
 public:
  bool read_register(std::uint64_t number, ExpressionValue& value) noexcept override {
    value = {.amount = 1000 + number};
    return number < 17;
  }
  bool load(const ExpressionValue& address, unsigned size, ExpressionValue& value) noexcept override {
    value = {.amount = address.amount + 1};
    if (size < 8) value.amount &= (std::uint64_t{1} << (size * 8)) - 1;
    return address.amount != 0;
  }
};

struct Result {
  bool ok;
  std::uint64_t value;
};

Result evaluate(const Bytes& operations, const ExpressionValue* initial = nullptr) {
  const Bytes block = Cfi{}.block(operations).bytes;
  const auto begin = reinterpret_cast<std::uint64_t>(block.data());
  Numbers numbers;
  ExpressionValue result;
  const bool ok = evaluate_expression(begin, begin + block.size(), initial, numbers, result);
  return {ok, result.amount};
}

void gives(const Bytes& operations, std::uint64_t expected) {
  const Result result = evaluate(operations);
  CHECK(result.ok);
  CHECK(result.value == expected);
}

constexpr std::uint8_t kAdd = 0x22;

}  // namespace

TEST_CASE("constants of every size and sign") {
  const auto minus_two = ~std::uint64_t{1};
  gives({0x30}, 0);
  gives({0x4f}, 31);
  gives({0x08, 0xfe}, 0xfe);
  gives({0x09, 0xfe}, minus_two);
  gives({0x0a, 0xfe, 0xff}, 0xfffe);
  gives({0x0b, 0xfe, 0xff}, minus_two);
  gives({0x0c, 0xfe, 0xff, 0xff, 0xff}, 0xfffffffe);
  gives({0x0d, 0xfe, 0xff, 0xff, 0xff}, minus_two);
  gives(Cfi{}.u8(0x0e).u64(0x123456789abcdef0).bytes, 0x123456789abcdef0);
  gives(Cfi{}.u8(0x0f).u64(minus_two).bytes, minus_two);
  gives(Cfi{}.u8(0x03).u64(77).bytes, 77);
  gives(Cfi{}.u8(0x10).uleb(300).bytes, 300);
  gives(Cfi{}.u8(0x11).sleb(-2).bytes, minus_two);
}

TEST_CASE("registers and loads") {
  gives(breg(7, 8), 1015);
  gives(breg(6, -16), 990);
  gives(Cfi{}.u8(0x92).uleb(12).sleb(4).bytes, 1016);
  gives(breg(7, 0) + Bytes{0x06}, 1008);
  gives(breg(7, 0) + Bytes{0x94, 1}, 1008 & 0xff);
  CHECK_FALSE(evaluate(breg(7, 0) + Bytes{0x94, 3}).ok);
  CHECK_FALSE(evaluate({0x30, 0x06}).ok);  // the input cannot read address 0
  CHECK_FALSE(evaluate(Cfi{}.u8(0x92).uleb(99).sleb(4).bytes).ok);
}

TEST_CASE("stack operations") {
  gives({0x31, 0x12, kAdd}, 2);                              // dup
  gives({0x31, 0x32, 0x13}, 1);                              // drop
  gives({0x31, 0x32, 0x14}, 1);                              // over
  gives({0x31, 0x32, 0x33, 0x15, 2}, 1);                     // pick
  gives({0x31, 0x33, 0x16, 0x1c}, 2);                        // swap, minus: 3 - 1
  gives({0x31, 0x32, 0x34, 0x17, 0x1c}, ~std::uint64_t{0});  // rot: 4 1 2, minus: 1 - 2
}

TEST_CASE("arithmetic and comparisons") {
  gives({0x09, 0xfb, 0x19}, 5);                        // abs(-5)
  gives({0x35, 0x19}, 5);                              // abs(5)
  gives({0x35, 0x1f, 0x1f}, 5);                        // neg
  gives({0x30, 0x20}, ~std::uint64_t{0});              // not
  gives({0x3c, 0x3a, 0x1a}, 8);                        // and
  gives({0x3c, 0x3a, 0x21}, 14);                       // or
  gives({0x3c, 0x3a, 0x27}, 6);                        // xor
  gives({0x3c, 0x35, 0x1b}, 2);                        // div
  gives({0x3c, 0x35, 0x1d}, 2);                        // mod
  gives({0x3c, 0x35, 0x1e}, 60);                       // mul
  gives({0x31, 0x23, 0x80, 0x01}, 129);                // plus_uconst
  gives({0x31, 0x34, 0x24}, 16);                       // shl
  gives({0x4f, 0x32, 0x25}, 7);                        // shr
  gives({0x09, 0xf0, 0x32, 0x26}, ~std::uint64_t{3});  // shra(-16, 2) = -4
  gives({0x31, 0x08, 64, 0x24}, 0);                    // shifted out
  gives({0x31, 0x31, 0x29}, 1);                        // eq
  gives({0x31, 0x32, 0x2e}, 1);                        // ne
  gives({0x09, 0xff, 0x31, 0x2d}, 1);                  // lt, signed
  gives({0x31, 0x31, 0x2c}, 1);                        // le
  gives({0x32, 0x31, 0x2b}, 1);                        // gt
  gives({0x31, 0x32, 0x2a}, 0);                        // ge
  CHECK_FALSE(evaluate({0x31, 0x30, 0x1b}).ok);        // division by zero
  CHECK_FALSE(evaluate({0x31, 0x30, 0x1d}).ok);
  CHECK_FALSE(evaluate(Cfi{}.u8(0x0e).u64(std::uint64_t{1} << 63U).u8(0x09).u8(0xff).u8(0x1b).bytes).ok);
}

TEST_CASE("jumps stay inside, and loops end") {
  gives({0x31, 0x2f, 1, 0, 0x32, 0x96}, 1);            // skip over lit2
  gives({0x37, 0x31, 0x28, 1, 0, 0x32}, 7);            // bra taken
  gives({0x37, 0x30, 0x28, 1, 0, 0x32}, 2);            // bra not taken
  CHECK_FALSE(evaluate({0x31, 0x2f, 0xfd, 0xff}).ok);  // skip -3: for ever
  CHECK_FALSE(evaluate({0x31, 0x2f, 0x10, 0}).ok);     // out of the block
  CHECK_FALSE(evaluate({0x31, 0x2f, 0x00, 0x80}).ok);
}

TEST_CASE("nonsense is refused") {
  CHECK_FALSE(evaluate({}).ok);
  CHECK_FALSE(evaluate({kAdd}).ok);
  CHECK_FALSE(evaluate({0x31, 0x13, 0x13}).ok);
  CHECK_FALSE(evaluate({0x50}).ok);        // a register location, not a value
  CHECK_FALSE(evaluate({0x0c, 0x01}).ok);  // cut off
  CHECK_FALSE(evaluate(Bytes(40, 0x31)).ok);
  const Bytes block = Cfi{}.uleb(100).u8(0x31).bytes;
  const auto begin = reinterpret_cast<std::uint64_t>(block.data());
  Numbers numbers;
  ExpressionValue result;
  CHECK_FALSE(evaluate_expression(begin, begin + block.size(), nullptr, numbers, result));
}

TEST_CASE("register rules start with the CFA on the stack") {
  const ExpressionValue cfa{.amount = 5000};
  CHECK(evaluate({0x23, 8}, &cfa).value == 5008);
}

TEST_CASE("folding keeps what is open") {
  const auto fold = [](const Bytes& operations, ExpressionValue& value) {
    const Bytes block = Cfi{}.block(operations).bytes;
    const auto begin = reinterpret_cast<std::uint64_t>(block.data());
    return fold_expression(begin, begin + block.size(), {0x401000, 16}, value);
  };
  ExpressionValue value;
  REQUIRE(fold(breg(7, 160), value));
  CHECK(value.form == Form::register_plus);
  CHECK(value.base == 7);
  CHECK(value.amount == 160);
  REQUIRE(fold(breg(7, 160) + Bytes{0x06, 0x23, 8}, value));
  CHECK(value.form == Form::loaded_plus);
  CHECK(value.inner == 160);
  CHECK(value.amount == 8);
  REQUIRE(fold(breg(16, 1), value));
  CHECK(value.form == Form::number);
  CHECK(value.amount == 0x401001);
  REQUIRE(fold({0x38, 0x76, 0x00, kAdd}, value));
  CHECK(value.base == 6);
  CHECK(value.amount == 8);
  CHECK_FALSE(fold(breg(7, 0) + breg(6, 0) + Bytes{kAdd}, value));
  CHECK_FALSE(fold(breg(7, 0) + Bytes{0x06, 0x06}, value));
  CHECK_FALSE(fold(breg(7, 0) + Bytes{0x3f, 0x1a}, value));
}

TEST_CASE("any bytes end the evaluation, within the block and always alike") {
  const FakeModule guarded;  // its last byte is followed by an inaccessible page
  CHECK(rc::check([&guarded](Bytes operations) {
    if (operations.size() > 120) operations.resize(120);
    const Bytes block = Cfi{}.block(operations).bytes;
    const std::uint64_t begin = guarded.module().end - block.size();
    std::memcpy(reinterpret_cast<void*>(begin), block.data(), block.size());
    Numbers numbers;
    ExpressionValue result;
    const bool ok = evaluate_expression(begin, guarded.module().end, nullptr, numbers, result);
    const Result elsewhere = evaluate(operations);
    RC_ASSERT(ok == elsewhere.ok);
    RC_ASSERT(!ok || result.amount == elsewhere.value);
  }));
}

}  // namespace expression_test
