#pragma once

#include <string_view>

namespace culprit::database {

/// Whether a user who says `name` means the procedure called `full`: the whole name, or all of it but the
/// parameters.
inline bool is_called(std::string_view full, std::string_view name) {
  if (full == name) return true;
  return full.size() > name.size() && full.starts_with(name) && full[name.size()] == '(';
}

}  // namespace culprit::database
