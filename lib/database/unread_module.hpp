#pragma once

#include "database/database.hpp"

#include <string>

namespace culprit::database {

/// Why nothing was read from a module when its structure was sought, so that its code has no names
/// (lib/structure says it so, in a note); empty where something was.
inline std::string why_unread(const ModuleInfo& module) {
  for (const std::string& note : module.notes)
    if (note.starts_with("cannot be read") || note.starts_with("changed since")) return note;
  return {};
}

}  // namespace culprit::database
