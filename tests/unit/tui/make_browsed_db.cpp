#include "browsed_example.hpp"

#include <cstdio>
#include <exception>

// make_browsed_db OUT.db: the database that the browser's tests and the captures in the user guide show.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_browsed_db OUT.db\n", stderr);
    return 2;
  }
  try {
    culprit::database::write_example(culprit::viewer::tui::testing::make_browsed_example(), argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_browsed_db: write: %s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
