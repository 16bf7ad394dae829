#pragma once

#include <string>
#include <vector>

namespace culprit::launcher {

/// The program to be started, as far as it decides how it can be measured.
struct Program {
  std::string path;   ///< what execvp would start
  std::string image;  ///< the ELF file behind it: the program itself, or a script's interpreter; may be empty
  std::string loader;  ///< the dynamic loader of that file
  bool script = false;
  std::vector<std::string> needed;  ///< libraries that the file names
};

/// Finds `name` as execvp does and makes sure that it can be measured. Throws Failure: not found, not
/// executable, another architecture, statically linked, setuid, setgid or with file capabilities.
Program find_program(const std::string& name);

/// The file name without its directories.
std::string base_name(const std::string& path);

}  // namespace culprit::launcher
