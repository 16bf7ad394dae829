#include "recording.hpp"
#include "run_files.hpp"

#include <cstdio>
#include <filesystem>

// Writes the run that an input of fuzz_merge stands for, to be looked at with the tools. Usage: write_run
// INPUT DIRECTORY
int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: write_run INPUT DIRECTORY\n", stderr);
    return 2;
  }
  std::filesystem::create_directories(argv[2]);
  fuzz::write_run(fuzz::kRun.split(recording::bytes_of(argv[1])), argv[2]);
  return 0;
}
