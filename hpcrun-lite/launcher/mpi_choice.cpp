#include "launcher/mpi_choice.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit::launcher {
namespace {

/// By soname: a major version of libmpi is a binary interface of its own.
Mpi mpi_of(const std::string& soname) {
  if (soname == "libmpi.so.40") return Mpi::openmpi;
  if (soname == "libmpich.so.12" || soname == "libmpi.so.12") return Mpi::mpich;
  if (soname.rfind("libmpi.so", 0) == 0 || soname.rfind("libmpich.so", 0) == 0) return Mpi::unknown;
  return Mpi::none;
}

std::string read_all(int descriptor) {
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t length = read(descriptor, block, sizeof block);
    if (length > 0) text.append(block, static_cast<std::size_t>(length));
    if (length == 0 || (length < 0 && errno != EINTR)) return text;
  }
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
    text = read_all(ends[0]);
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
  // Of the two, only Open MPI speaks PMIx as it is commonly built; mpirun or a batch system then sets the
  // rank.
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
    if (std::getenv(rank) != nullptr) return Mpi::openmpi;
  }
  if (std::getenv("PMI_RANK") != nullptr) return Mpi::mpich;
  return Mpi::none;
}

}  // namespace

Mpi choose_mpi(const Program& program, std::string& library) {
  const Mpi linked = linked_mpi(program, library);
  return linked == Mpi::none ? mpi_of_job() : linked;
}

}  // namespace culprit::launcher
