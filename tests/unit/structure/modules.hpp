#pragma once

#include "structure/structure.hpp"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

/// A built test program.
inline std::filesystem::path program(const std::string& name) {
  return std::filesystem::path(STRUCTURE_PROGRAMS) / name;
}
inline std::filesystem::path source(const std::string& name) {
  return std::filesystem::path(STRUCTURE_SOURCES) / name;
}

/// The source of one of our own programs.
inline std::filesystem::path app(const std::string& name) {
  return std::filesystem::path(STRUCTURE_APPS) / name;
}

/// Every address of a section, by `step`, read independently of the code under test.
std::vector<std::uint64_t> section_addresses(const std::filesystem::path& file, const std::string& section,
                                             std::uint64_t step = 1);
/// The value of a symbol in .symtab; 0 where there is none.
std::uint64_t symbol_value(const std::filesystem::path& file, const std::string& symbol);

/// Addresses in .text at which a call stands, or a jump to the function `sink` (a call in tail position).
std::set<std::uint64_t> calls(const std::filesystem::path& file);

culprit::structure::ModuleStructure recover_all(const std::filesystem::path& file,
                                                const std::vector<std::uint64_t>& addresses);

/// Of each point all that is known of it, in words: what is said, however it is put in order.
std::vector<std::string> reported(const culprit::structure::ModuleStructure& module);
