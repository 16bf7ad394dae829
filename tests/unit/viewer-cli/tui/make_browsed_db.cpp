#include "browsed_example.hpp"

#include <cstdio>
#include <exception>

// make_browsed_db OUT.db [AFTER.db]: the database that the browser's tests and the captures in the user guide
// show, and one to compare it with.
int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: make_browsed_db OUT.db [AFTER.db]\n", stderr);
    return 2;
  }
  try {
    culprit::database::write_example(culprit::viewer::tui::testing::make_browsed_example(), argv[1]);
    if (argc == 3)
      culprit::database::write_example(culprit::viewer::tui::testing::make_mended_example(), argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_browsed_db: write: %s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
