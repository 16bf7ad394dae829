#include "example.hpp"

#include <cstdio>
#include <exception>

// make_example_db OUT.db: writes the example database, to look at with viewer-cli.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_example_db OUT.db\n", stderr);
    return 2;
  }
  try {
    culprit::database::write_example(culprit::database::make_example(), argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_example_db: write: %s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
