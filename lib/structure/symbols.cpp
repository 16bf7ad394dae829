// Function symbols of a module, one for each address (docs/algorithms.md 15). Of several names the best
// stays: one with a type, then MPI_X rather than PMPI_X, then without leading underscores, then global before
// weak before local, then the shortest. An address belongs to the innermost symbol whose size covers it; the
// search goes back no further than the highest end of all symbols before reaches. Cost: a sort, then a binary
// search per address.
#include "structure/symbols.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <tuple>

namespace culprit::structure {
namespace {

bool has_underscores(std::string_view name) {
  if (!name.starts_with('_')) return false;
  const bool mangled =
      name.starts_with("_Z") || name.starts_with("_R") || name.find("_MOD_") != std::string_view::npos;
  return !mangled;
}

/// How good a name is, lower is better; ties go to the shorter, then to the first in byte order.
std::uint8_t rank_of(const GElf_Sym& symbol, std::string_view name) {
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  const unsigned binding = GELF_ST_BIND(symbol.st_info);
  unsigned rank = binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
  if (has_underscores(name)) rank += 4;
  if (name.starts_with("PMPI_") || name.starts_with("pmpi_")) rank += 8;
  if (type == STT_NOTYPE) rank += 16;
  return static_cast<std::uint8_t>(rank);
}

bool better(const Symbol& a, const Symbol& b) {
  return std::tuple(a.rank, a.name.size(), std::string_view(a.name)) <
         std::tuple(b.rank, b.name.size(), std::string_view(b.name));
}

/// `$x` and `$d`, perhaps with a suffix: where code and data begin (ELF for the Arm 64-bit
/// architecture 5.5.5).
bool marks_code(std::string_view name) {
  return (name.starts_with("$x") || name.starts_with("$d")) && (name.size() == 2 || name[2] == '.');
}

std::vector<Symbol> read_symbols(const Module& module) {
  std::vector<Symbol> symbols;
  const int count = dwfl_module_getsymtab(module.dwfl());
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol{};
    GElf_Addr value = 0;
    GElf_Word section = SHN_UNDEF;
    const char* name = dwfl_module_getsym_info(module.dwfl(), i, &symbol, &value, &section, nullptr, nullptr);
    if (name == nullptr || *name == '\0' || section == SHN_UNDEF || section == SHN_ABS) continue;
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    const std::uint64_t low = value - module.bias();
    if (!module.executable(low)) continue;
    const std::string_view whole(name);
    if (module.is_aarch64() && marks_code(whole)) continue;
    const std::string_view plain = whole.substr(0, whole.find('@', 1));
    const std::uint64_t high = low + symbol.st_size < low ? low : low + symbol.st_size;
    symbols.push_back({{low, high}, std::string(plain), rank_of(symbol, plain)});
  }
  return symbols;
}

}  // namespace

Symbols::Symbols(const Module& module) : symbols_(read_symbols(module)) {
  index();
}

void Symbols::add(std::vector<Symbol> symbols) {
  if (symbols.empty()) return;
  std::ranges::move(symbols, std::back_inserter(symbols_));
  index();
}

/// Sorts the symbols, keeps the best of each address, and builds the indices.
void Symbols::index() {
  std::ranges::sort(symbols_, [](const Symbol& a, const Symbol& b) {
    return a.range.low != b.range.low ? a.range.low < b.range.low : better(a, b);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (kept > 0 && symbols_[kept - 1].range.low == symbols_[i].range.low) {
      auto& high = symbols_[kept - 1].range.high;
      high = std::max(high, symbols_[i].range.high);
    } else {
      if (kept != i) symbols_[kept] = std::move(symbols_[i]);
      ++kept;
    }
  }
  symbols_.resize(kept);
  std::uint64_t reach = 0;
  reach_.clear();
  for (const Symbol& symbol : symbols_) reach_.push_back(reach = std::max(reach, symbol.range.high));
  by_name_.resize(kept);
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::ranges::stable_sort(by_name_, {},
                           [this](std::uint32_t i) { return std::string_view(symbols_[i].name); });
}

const Symbol* Symbols::preceding(std::uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(symbols_, address, {}, [](const Symbol& s) { return s.range.low; });
  return after == symbols_.begin() ? nullptr : &*(after - 1);
}

const Symbol* Symbols::following(std::uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(symbols_, address, {}, [](const Symbol& s) { return s.range.low; });
  return after == symbols_.end() ? nullptr : &*after;
}

const Symbol* Symbols::covering(std::uint64_t address) const {
  const Symbol* last = preceding(address);
  if (last == nullptr) return nullptr;
  for (auto i = static_cast<std::size_t>(last - symbols_.data()) + 1; i-- > 0 && reach_[i] > address;)
    if (symbols_[i].range.contains(address)) return &symbols_[i];
  return nullptr;
}

const Symbol* Symbols::at(std::uint64_t address) const {
  const Symbol* symbol = preceding(address);
  return symbol != nullptr && symbol->range.low == address ? symbol : nullptr;
}

const Symbol* Symbols::named(const std::string& name) const {
  const auto key = [this](std::uint32_t i) { return std::string_view(symbols_[i].name); };
  const auto first = std::ranges::lower_bound(by_name_, std::string_view(name), {}, key);
  const auto last = std::ranges::upper_bound(by_name_, std::string_view(name), {}, key);
  return last - first == 1 ? &symbols_[*first] : nullptr;
}

}  // namespace culprit::structure
