#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::database {

/// Whether a user who says `name` means the procedure called `full`: the whole name, or all of it but the
/// parameters.
inline bool is_called(std::string_view full, std::string_view name) {
  if (full == name) return true;
  return full.size() > name.size() && full.starts_with(name) && full[name.size()] == '(';
}

/// Of the name of a region that stands for a file which is read or written (hpcrun-lite --files), the file;
/// empty for others.
inline std::string_view file_of_region(std::string_view name) {
  constexpr std::string_view kBefore = "file ";
  if (!name.starts_with(kBefore)) return {};
  const std::string_view file = name.substr(kBefore.size());
  return file.starts_with('/') || file.starts_with('<') || file.starts_with("...") ? file
                                                                                   : std::string_view();
}

/// What stands between two brackets of a name.
struct BracketRange {
  std::size_t begin = 0, end = 0;
};
/// The bracketed parts at nesting level one, outside operators' names.
std::vector<BracketRange> brackets(std::string_view name, char open, char close);

/// Cuts what demangled templates of functions return (`void f<int>`): no other name has a space outside of
/// brackets, but for operators of types, thunks, and what is inside of a member function that is const.
void drop_return_type(std::string& name);
/// Cuts the last parameter list, with `const` and the like behind it; `(anonymous namespace)` is no such
/// list. A remark in square brackets behind it (`f(int) [clone .cold]`) stays.
void drop_parameters(std::string& name);

/// A name without its parameter list and, of templates, what they return: how prose calls a procedure.
std::string without_parameters(std::string_view name);

}  // namespace culprit::database
