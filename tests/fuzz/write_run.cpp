#include "recording.hpp"
#include "run_files.hpp"

#include <cstdio>
#include <filesystem>
#include <string_view>

// Writes the run that an input of fuzz_merge stands for, to be looked at with the tools. Of fuzz_merge_killed
// with --killed. Usage: write_run [--killed] INPUT DIRECTORY
int main(int argc, char** argv) {
  const bool killed = argc == 4 && std::string_view(argv[1]) == "--killed";
  if (argc != 3 && !killed) {
    std::fputs("usage: write_run [--killed] INPUT DIRECTORY\n", stderr);
    return 2;
  }
  const fuzz::RunFormat& run = killed ? fuzz::kKilledRun : fuzz::kRun;
  std::filesystem::create_directories(argv[argc - 1]);
  fuzz::write_run(run, run.format.split(recording::bytes_of(argv[argc - 2])), argv[argc - 1]);
  return 0;
}
