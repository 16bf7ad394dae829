// Whom calls and tail calls name (docs/algorithms.md 15): the direct call before a return address, and the
// jumps of a function that lead to where another begins by .eh_frame, or to a linkage stub. Cost: one pass
// over .eh_frame and the relocations of a module of which a function's jumps are asked for; one decoding of
// each such function.
#include "structure/tail_calls.hpp"

#include <cstring>
#include <string_view>

#include <gelf.h>

namespace culprit::structure {
namespace {

/// In bytes: decoding a larger one takes longer than the name of a caller is worth.
constexpr std::uint64_t kLargestFunction = std::uint64_t{1} << 20;

}  // namespace

TailCalls::TailCalls(const Request& request) {
  std::string why;
  module_ = Module::open(request, why);
  const bool measured = module_ && (request.build_id.empty() || request.build_id == module_->build_id());
  if (!measured || !(module_->is_x86_64() || module_->is_aarch64())) module_.reset();
}

std::uint64_t TailCalls::called_before(std::uint64_t address) const {
  return module_ ? callee_before(*module_, address) : 0;
}

const std::vector<TailCall>& TailCalls::of(std::uint64_t entry) {
  const auto [known, added] = known_.try_emplace(entry);
  if (added && module_) known->second = read(entry);
  return known->second;
}

std::vector<TailCall> TailCalls::read(std::uint64_t entry) {
  if (!frames_) {
    frames_.emplace(*module_);
    stubs_.emplace(*module_);
    decoder_.emplace(*module_);
  }
  const auto begins = [this](std::uint64_t address) {
    const Frame* const frame = frames_->find(address);
    return frame != nullptr && frame->range.low == address;
  };
  std::vector<TailCall> found;
  if (!begins(entry)) return found;
  const Range own = frames_->find(entry)->range;
  if (own.high - own.low > kLargestFunction) return found;
  for (const Instruction& instruction : decoder_->decode(own)) {
    const bool jumps =
        instruction.flow == Instruction::Flow::jump || instruction.flow == Instruction::Flow::branch;
    if (!jumps || own.contains(instruction.target)) continue;
    if (const auto stub = stubs_->find(instruction.target)) {
      if (!stub->callee.empty()) found.push_back({instruction.address, 0, stub->callee});
    } else if (begins(instruction.target)) {
      found.push_back({instruction.address, instruction.target, {}});
    }
  }
  return found;
}

std::uint64_t TailCalls::exported(const std::string& name) {
  if (!exports_) read_exports();
  const auto found = exports_->find(name);
  return found == exports_->end() ? 0 : found->second;
}

void TailCalls::read_exports() {
  exports_.emplace();
  if (!module_) return;
  const auto symbols = module_->section(".dynsym").bytes, names = module_->section(".dynstr").bytes;
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol{};
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= names.size()) continue;
    const std::string_view rest(reinterpret_cast<const char*>(names.data()) + symbol.st_name,
                                names.size() - symbol.st_name);
    const auto [known, added] =
        exports_->try_emplace(std::string(rest.substr(0, rest.find('\0'))), symbol.st_value);
    if (!added && known->second != symbol.st_value) known->second = 0;
  }
}

}  // namespace culprit::structure
