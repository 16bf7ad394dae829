#include "recording.hpp"

#include <cstdio>
#include <exception>

// Writes a small sealed measurement, for the fuzzer to begin with. Usage: make_measurement OUT
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_measurement OUT\n", stderr);
    return 2;
  }
  try {
    const recording::Directory directory;
    recording::write_bytes(argv[1], recording::small_file(true, directory));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_measurement: %s\n", error.what());
    return 1;
  }
  return 0;
}
