// Names and bounds of functions without debug information: linkage stubs, then the symbol whose size covers
// the address, then call-frame information; cold parts (`.cold`) belong to their function. An address beyond
// a symbol's size is never given to it.
#include "structure/function_bounds.hpp"

#include "structure/entry_point.hpp"
#include "structure/forwarders.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace culprit::structure {
namespace {

/// `foo` of `foo.cold`, `foo.cold.3`, `foo.part.0.cold`: the symbol whose rarely executed part this is; empty
/// where it is none.
std::string hot_name(const std::string& name) {
  const auto at = name.rfind(".cold");
  if (at == std::string::npos || at == 0) return {};
  const auto rest = std::string_view(name).substr(at + 5);
  const bool numbered =
      rest.starts_with('.') && rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return rest.empty() || numbered ? name.substr(0, at) : std::string();
}

}  // namespace

FunctionBounds::FunctionBounds(const Module& module)
    : module_(module), frames_(module), symbols_(module), stubs_(module) {
  symbols_.add(entry_symbols(module));
  symbols_.add(forwarded_symbols(module, symbols_));
  symbols_.add(part_symbols(module, symbols_));
}

const Symbol* FunctionBounds::owner(std::uint64_t address, const Frame* frame) const {
  if (const Symbol* symbol = symbols_.covering(address)) return symbol;
  const Symbol* symbol = symbols_.preceding(address);
  if (symbol == nullptr) return nullptr;
  const bool sized = symbol->range.high > symbol->range.low;
  if (frame == nullptr)  // code without call-frame information, such as assembly
    return !sized && extent(*symbol).contains(address) ? symbol : nullptr;
  if (symbol->range.low == frame->range.low) return symbol;
  return !sized && symbol->range.low > frame->range.low ? symbol : nullptr;
}

Range FunctionBounds::extent(const Symbol& symbol) const {
  Range range = symbol.range;
  const Frame* frame = frames_.find(symbol.range.low);
  if (frame != nullptr && frame->range.low == range.low) range.high = std::max(range.high, frame->range.high);
  if (range.high > range.low) return range;
  range.high = range.low + module_.bytes(range.low).size();
  if (frame != nullptr) range.high = std::min(range.high, frame->range.high);
  if (const Symbol* next = symbols_.following(range.low)) range.high = std::min(range.high, next->range.low);
  return range;
}

Function FunctionBounds::whole(const Symbol& symbol) const {
  Function function{demangle(symbol.name), symbol.name, {extent(symbol)}, NameSource::symbol};
  const Symbol* cold = symbols_.named(symbol.name + ".cold");
  if (cold != nullptr && symbols_.named(symbol.name) == &symbol) function.ranges.push_back(extent(*cold));
  return function;
}

Function FunctionBounds::find(std::uint64_t address) const {
  if (const auto stub = stubs_.find(address)) {
    const std::string callee = stub->callee.empty() ? "?" : stub->callee;
    return {demangle(callee) + "@plt", callee + "@plt", {stub->range}, NameSource::symbol};
  }
  const Frame* frame = frames_.find(address);
  if (const Symbol* symbol = owner(address, frame)) {
    const std::string hot = hot_name(symbol->name);
    const Symbol* parent = hot.empty() ? nullptr : symbols_.named(hot);
    Function function = whole(parent == nullptr ? *symbol : *parent);
    if (std::ranges::none_of(function.ranges, [&](const Range& range) { return range.contains(address); }))
      function.ranges.push_back(extent(*symbol));
    return function;
  }
  if (frame != nullptr)
    return {
        fmt::format("{}@{:#x}", module_.name(), frame->range.low), {}, {frame->range}, NameSource::eh_frame};
  return {};
}

}  // namespace culprit::structure
