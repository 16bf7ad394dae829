#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::launcher {

enum class Machine : std::uint8_t { this_one, other, damaged };

/// What an ELF file says about how it is loaded.
struct DynamicSection {
  Machine machine = Machine::damaged;
  std::string loader;               ///< PT_INTERP; empty in a statically linked program
  std::vector<std::string> needed;  ///< DT_NEEDED
};

/// Reads an ELF file; nothing where `path` is no ELF file or cannot be read. Trusts no number in it.
std::optional<DynamicSection> read_dynamic_section(const std::string& path);

}  // namespace culprit::launcher
