// Finds where the computed jumps of switch statements lead (aarch64_code.hpp; docs/algorithms.md 15). Looks
// back from the jump for the addition, the load of an entry (16 instructions), the bounds check (24) and the
// table's address (4096), and reads entries until one is no instruction of the procedure.
#include "structure/aarch64/words.hpp"
#include "structure/aarch64_code.hpp"

#include <algorithm>
#include <optional>

namespace culprit::structure::aarch64 {
namespace {

/// A switch of a compiler has at most this many entries before it is taken for damage.
constexpr std::size_t kMostEntries = 8192;
constexpr std::size_t kLoadDistance = 16, kCheckDistance = 24, kBaseDistance = 4096;

unsigned field(std::uint32_t word, unsigned low) {
  return word >> low & 31U;
}

/// Walks back over the instructions before one.
class Back {
 public:
  Back(const Module& module, std::span<const Instruction> instructions, std::size_t before,
       std::size_t distance)
      : module_(module),
        instructions_(instructions),
        at_(before),
        last_(before > distance ? before - distance : 0) {}
  /// False: there are no more, or not near enough.
  bool next() {
    if (at_ == last_) return false;
    word_ = word_at(module_, instructions_[--at_].address);
    return true;
  }
  [[nodiscard]] std::uint32_t word() const { return word_; }
  [[nodiscard]] std::uint64_t address() const { return instructions_[at_].address; }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  const Module& module_;
  std::span<const Instruction> instructions_;
  std::size_t at_, last_;
  std::uint32_t word_ = 0;
};

/// add x, base, entry, extended and shifted; or lsl.
struct Sum {
  unsigned base = 0, entry = 0, shift = 0;
  std::size_t at = 0;
};

std::optional<Sum> sum_before(Back back, unsigned reg) {
  while (back.next()) {
    const std::uint32_t word = back.word();
    if (field(word, 0) != reg) continue;
    const unsigned base = field(word, 5), entry = field(word, 16);
    if ((word & 0xffe00000U) == 0x8b200000U)  // extended
      return Sum{base, entry, word >> 10U & 7U, back.at()};
    if ((word & 0xffe00000U) == 0x8b000000U)  // shifted left
      return Sum{base, entry, word >> 10U & 63U, back.at()};
    return std::nullopt;
  }
  return std::nullopt;
}

/// The load of an entry from the table at [base, index].
struct Load {
  unsigned base = 0, bytes = 0;
  bool is_signed = false;
  std::size_t at = 0;
};

std::optional<Load> load_before(Back back, unsigned reg) {
  while (back.next()) {
    const std::uint32_t word = back.word();
    const bool by_register = (word & 0x3f200c00U) == 0x38200800U;
    if (!by_register || field(word, 0) != reg || (word >> 22U & 3U) == 0) continue;
    return Load{field(word, 5), 1U << (word >> 30U), (word >> 22U & 3U) >= 2, back.at()};
  }
  return std::nullopt;
}

/// The address that adr, or adrp and add, gave `reg` last; 0 where none is found.
std::uint64_t address_before(Back back, unsigned reg) {
  std::uint64_t low = 0;
  while (back.next()) {
    const std::uint32_t word = back.word();
    if (field(word, 0) != reg) continue;
    if (is_adr(word)) return adr_of(word, back.address()) + low;
    if (is_adrp(word)) return adrp_of(word, back.address()) + low;
    if (is_add_low(word)) {
      low += distance_of(word);
      reg = field(word, 5);
    }
  }
  return 0;
}

/// The number of entries by the last `cmp index, n; b.hi default` (or b.ls) before the jump.
std::size_t bound(Back back) {
  bool checked = false;
  while (back.next()) {
    const std::uint32_t word = back.word();
    const std::uint32_t condition = word & 0xff00001fU;
    if (condition == 0x54000008U || condition == 0x54000009U) checked = true;
    if (!checked || (word & 0x7fc0001fU) != 0x7100001fU) continue;  // cmp w or x, #n
    const std::size_t limit = word >> 10U & 0xfffU;
    return std::min(limit + 1, kMostEntries);
  }
  return kMostEntries;
}

/// A table, what its entries are counted from, and how.
struct Table {
  std::uint64_t address = 0, anchor = 0;
  unsigned bytes = 0;  ///< of an entry; kAddress: it is no distance
  unsigned shift = 0;
  bool is_signed = false;
  static constexpr unsigned kAddress = 8;
};

std::optional<Table> locate(const Module& module, std::span<const Instruction> instructions,
                            std::size_t jump) {
  const unsigned target_register = field(word_at(module, instructions[jump].address), 5);
  const auto table_of = [&](const Load& load) {
    return address_before({module, instructions, load.at, kBaseDistance}, load.base);
  };
  const auto sum = sum_before({module, instructions, jump, kLoadDistance}, target_register);
  const auto load = load_before({module, instructions, sum ? sum->at : jump, kLoadDistance},
                                sum ? sum->entry : target_register);
  if (!load || sum.has_value() == (load->bytes == Table::kAddress)) return std::nullopt;
  Table table{.address = table_of(*load), .bytes = load->bytes};
  table.anchor = table.address;
  if (!sum) return table;
  if (sum->base != load->base)
    table.anchor = address_before({module, instructions, sum->at, kBaseDistance}, sum->base);
  table.shift = sum->shift;
  // An entry of bytes or halves is extended by the sum: sxtb, sxth, or unsigned.
  const std::uint32_t sum_word = word_at(module, instructions[sum->at].address);
  const bool extends = (sum_word & 0xffe00000U) == 0x8b200000U && (sum_word >> 13U & 7U) >= 4;
  table.is_signed = load->is_signed || extends || load->bytes == 4;
  return table;
}

std::uint64_t target_of(const Module& module, const Table& table, std::size_t entry) {
  const std::uint64_t address = table.address + entry * table.bytes;
  if (table.bytes == Table::kAddress) return module.pointer(address);
  std::uint32_t distance = 0;
  std::memcpy(&distance, module.bytes(address).data(), table.bytes);
  const std::int64_t extended =
      table.is_signed ? machine::aarch64::signed_bits(distance, 0, 8 * table.bytes) : std::int64_t{distance};
  return table.anchor + (static_cast<std::uint64_t>(extended) << table.shift);
}

}  // namespace

std::vector<std::uint64_t> jump_targets(const Module& module, std::span<const Instruction> instructions,
                                        std::size_t jump) {
  const std::optional<Table> table = locate(module, instructions, jump);
  if (!table || table->address == 0 || table->anchor == 0) return {};
  const auto bytes = module.bytes(table->address);
  const std::size_t entries =
      std::min(bytes.size() / table->bytes, bound({module, instructions, jump, kCheckDistance}));
  std::vector<std::uint64_t> found;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::uint64_t target = target_of(module, *table, i);
    const auto at = std::ranges::lower_bound(instructions, target, {}, &Instruction::address);
    if (at == instructions.end() || at->address != target) break;
    found.push_back(target);
  }
  return found;
}

}  // namespace culprit::structure::aarch64
