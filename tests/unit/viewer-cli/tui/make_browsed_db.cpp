#include "browsed_example.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

// make_browsed_db OUT.db [AFTER.db]: the database that the browser's tests and the captures in the user guide
// show, and one to compare it with. make_browsed_db --mesh SIDE OUT.db: the first one on SIDE * SIDE ranks.
int main(int argc, char** argv) {
  const bool mesh = argc == 4 && std::strcmp(argv[1], "--mesh") == 0;
  if (argc != 2 && argc != 3 && !mesh) {
    std::fputs("usage: make_browsed_db OUT.db [AFTER.db] | --mesh SIDE OUT.db\n", stderr);
    return 2;
  }
  try {
    if (mesh) {
      culprit::database::Example example = culprit::viewer::tui::testing::make_browsed_example();
      culprit::viewer::tui::testing::spread_over_mesh(example, std::max(std::atoi(argv[2]), 5));
      culprit::database::write_example(example, argv[3]);
      return 0;
    }
    culprit::database::write_example(culprit::viewer::tui::testing::make_browsed_example(), argv[1]);
    if (argc == 3)
      culprit::database::write_example(culprit::viewer::tui::testing::make_mended_example(), argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_browsed_db: write: %s: %s\n", argv[argc == 4 ? 3 : 1], error.what());
    return 1;
  }
  return 0;
}
