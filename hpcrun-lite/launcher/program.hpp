#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace culprit::launcher {

// Exit statuses, as env(1) and shells have them for programs that cannot be run.
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;
inline constexpr int kCannotRun = 126;
inline constexpr int kNotFound = 127;

/// Why the program is not started; what() is the line without the tool's name.
class Failure : public std::runtime_error {
 public:
  Failure(int status, const std::string& line) : std::runtime_error(line), status_(status) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

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

enum class Mpi : std::uint8_t { none, openmpi, mpich, unknown };

/// Which MPI the program will use: what it links, directly or through other libraries; else (a script, an
/// interpreter, a program that loads MPI itself) the one whose launcher started us. `unknown`: an MPI with
/// another binary interface; `library` then names it.
Mpi choose_mpi(const Program& program, std::string& library);

}  // namespace culprit::launcher
