// Decides whether a program can be measured, and which MPI it uses. Scripts are followed to their
// interpreter, as the kernel does. The MPI is the one among the libraries that the program names, else among
// those that its own loader would load, else that of the launcher that started us.
#include "launcher/program.hpp"

#include "files/named_file.hpp"
#include "launcher/dynamic_section.hpp"
#include "machine/machine.hpp"
#include "measurement/launch_variables.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace culprit::launcher {

namespace {

constexpr int kMaxInterpreters = 4;  // the kernel's own limit on scripts that are interpreted by scripts

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string search(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::istringstream directories(variable == nullptr ? "/bin:/usr/bin" : variable);
  std::string found_but;
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string path = (directory.empty() ? "." : directory) + "/" + name;
    if (is_executable_file(path)) return path;
    if (found_but.empty() && access(path.c_str(), F_OK) == 0) found_but = path;
  }
  if (!found_but.empty()) throw Failure(kCannotRun, "run: " + found_but + ": not executable (chmod +x it?)");
  throw Failure(kNotFound, "run: " + name + ": no such program in the PATH (is its name right?)");
}

std::string locate(const std::string& name) {
  if (name.find('/') == std::string::npos) return search(name);
  struct stat status {};
  if (stat(name.c_str(), &status) != 0) {
    throw Failure(errno == ENOENT || errno == ENOTDIR ? kNotFound : kCannotRun,
                  "run: " + name + ": " + std::strerror(errno) + " (is its path right?)");
  }
  if (S_ISDIR(status.st_mode))
    throw Failure(kCannotRun, "run: " + name + ": is a directory (name a program)");
  if (!is_executable_file(name))
    throw Failure(kCannotRun, "run: " + name + ": not executable (chmod +x it?)");
  return name;
}

/// The loader ignores LD_PRELOAD where a program gains privileges.
void refuse_privileged(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return;
  const char* what = nullptr;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) what = "setuid";
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()) what = "setgid";
  if (what == nullptr && geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    what = "given file capabilities";
  }
  if (what != nullptr) {
    throw Failure(kCannotRun, "run: " + path + ": is " + what +
                                  ": the system does not let it be measured (measure a copy without that)");
  }
}

/// The interpreter that a script's first line names; empty where the file is none.
std::string interpreter_of(const std::string& path) {
  std::error_code error;
  const files::Descriptor file = files::open_named(path, std::numeric_limits<std::uint64_t>::max(), error);
  std::array<char, 4096> beginning{};
  const ssize_t size = file.good() ? pread(file.get(), beginning.data(), beginning.size(), 0) : 0;
  const std::string_view text(beginning.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  if (!text.starts_with("#!")) return "";
  std::istringstream words(std::string(text.substr(2, text.find('\n') - 2)));
  std::string interpreter;
  std::string argument;
  words >> interpreter >> argument;
  if (base_name(interpreter) == "env" && !argument.empty() && argument[0] != '-') return search(argument);
  return interpreter;
}

/// Some installations start their programs by hand with the loader that they bring along.
bool is_loader(std::string_view file_name) {
  return file_name == "ld.so" ||
         (file_name.starts_with("ld-") && file_name.find(".so") != std::string_view::npos);
}

void refuse_unmeasurable(const std::string& path, const DynamicSection& dynamic) {
  switch (dynamic.machine) {
    case Machine::this_one:
      break;
    case Machine::other:
      throw Failure(kCannotRun, "run: " + path + ": is not a program for " + machine::kName +
                                    " (build it for " + machine::kName + ")");
    case Machine::damaged:
      throw Failure(kCannotRun, "run: " + path + ": is damaged (rebuild or copy it again)");
  }
  if (dynamic.loader.empty() && is_loader(base_name(path))) {
    throw Failure(kCannotRun,
                  "run: " + path +
                      ": is the dynamic loader, and what it starts cannot be measured (name the program "
                      "itself; LD_LIBRARY_PATH replaces --library-path)");
  }
  if (dynamic.loader.empty()) {
    throw Failure(kCannotRun,
                  "run: " + path + ": is statically linked and cannot be measured (link it without -static)");
  }
}

}  // namespace

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Program find_program(const std::string& name) {
  if (name.empty()) throw Failure(kNotFound, "run: the program's name is empty (name a program)");
  Program program;
  program.path = locate(name);
  program.image = program.path;
  for (int i = 0; i < kMaxInterpreters; ++i) {
    refuse_privileged(program.image);
    const std::string interpreter = interpreter_of(program.image);
    if (interpreter.empty()) break;
    program.script = true;
    program.image = interpreter;
  }
  const auto dynamic = read_dynamic_section(program.image);
  if (!dynamic) {  // no ELF file: execvp hands it to the shell
    program.script = true;
    program.image.clear();
    return program;
  }
  refuse_unmeasurable(program.image, *dynamic);
  program.loader = dynamic->loader;
  program.needed = dynamic->needed;
  return program;
}

namespace {

/// By soname: a major version of libmpi is a binary interface of its own.
Mpi mpi_of(const std::string& soname) {
  if (soname == "libmpi.so.40") return Mpi::openmpi;
  if (soname == "libmpich.so.12" || soname == "libmpi.so.12") return Mpi::mpich;
  if (soname.rfind("libmpi.so", 0) == 0 || soname.rfind("libmpich.so", 0) == 0) return Mpi::unknown;
  return Mpi::none;
}

/// What the program's own loader says it would load, one library per line; empty where it does not say.
std::string list_libraries(const Program& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const char* arguments[] = {program.loader.c_str(), "--list", program.image.c_str(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawn(&child, program.loader.c_str(), &actions, nullptr, const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (error == 0) {
    text = files::read_pipe(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return text;
}

Mpi linked_mpi(const Program& program, std::string& library) {
  for (const std::string& needed : program.needed) {
    library = needed;
    const Mpi mpi = mpi_of(needed);
    if (mpi != Mpi::none) return mpi;
  }
  if (program.loader.empty()) return Mpi::none;
  std::istringstream lines(list_libraries(program));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    words >> library;
    const Mpi mpi = mpi_of(library);
    if (mpi != Mpi::none) return mpi;
  }
  return Mpi::none;
}

Mpi mpi_of_job() {
  for (const char* rank : measurement::kOpenMpiRankVariables) {
    if (std::getenv(rank) != nullptr) return Mpi::openmpi;
  }
  for (const char* rank : measurement::kMpichRankVariables) {
    if (std::getenv(rank) != nullptr) return Mpi::mpich;
  }
  return Mpi::none;
}

}  // namespace

Mpi choose_mpi(const Program& program, std::string& library) {
  const Mpi linked = linked_mpi(program, library);
  return linked == Mpi::none ? mpi_of_job() : linked;
}

}  // namespace culprit::launcher
