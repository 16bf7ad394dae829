#pragma once

#include <string_view>

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

}  // namespace culprit::database
