// What is remembered, and where.
#include "tui/state/state_files.hpp"

#include "driven_browser.hpp"
#include "tui/view_state.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace culprit::viewer::tui::testing {
namespace {

namespace fs = std::filesystem;

/// An empty folder as the home of states, while it lives.
class StateHome {
 public:
  StateHome() : path_(fs::temp_directory_path() / ("state-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
    ::setenv("XDG_STATE_HOME", path_.c_str(), 1);
  }
  ~StateHome() {
    ::unsetenv("XDG_STATE_HOME");
    fs::remove_all(path_);
  }
  StateHome(const StateHome&) = delete;
  StateHome& operator=(const StateHome&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("A database is shown again as it was left") {
  const StateHome home;
  DrivenBrowser first;
  first.type("2>>%/halo\n");
  save_view(first.browser().tabs(), first.workspace());
  DrivenBrowser second;
  restore_view(second.browser().tabs(), second.workspace());
  second.type("2");
  CHECK(second.line(1).find("▼wait %") != std::string::npos);
  CHECK(second.selected().find("cg::halo_exchange") != std::string::npos);
}

TEST_CASE("What is remembered of another run, or is no JSON, is passed over") {
  const StateHome home;
  DrivenBrowser driven;
  const auto file = state_file(driven.workspace().database(), ".view.json");
  REQUIRE(file);
  for (const char* const text : {R"({"run_id":"another","sort":2})", "{", "[]", R"({"run_id":7})"}) {
    REQUIRE(write_whole(*file, text, driven.workspace().database()));
    CHECK_NOTHROW(restore_view(driven.browser().tabs(), driven.workspace()));
    CHECK(driven.workspace().columns().sort() == 0);
  }
}

TEST_CASE("What is remembered may be cut or flipped anywhere: the browser shows its pages") {
  const StateHome home;
  DrivenBrowser first;
  first.type("2>>%/halo\n");
  save_view(first.browser().tabs(), first.workspace());
  const auto file = state_file(first.workspace().database(), ".view.json");
  REQUIRE(file);
  const std::optional<std::string> good = read_whole(*file);
  REQUIRE(good);
  DrivenBrowser driven;
  const auto restore = [&](const std::string& text) {
    std::ofstream(*file, std::ios::binary) << text;
    restore_view(driven.browser().tabs(), driven.workspace());
    driven.type("2");
    CHECK_FALSE(driven.line(1).empty());
  };
  for (std::size_t at = 0; at < good->size(); ++at) {
    restore(good->substr(0, at));
    std::string bytes = *good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 7));
    restore(bytes);
  }
}

TEST_CASE("Defined metrics are kept beside the database, or at home where that cannot be written") {
  const StateHome home;
  const std::string database = (home.path() / "run.db").string();
  save_derived_metrics(database, {"a=$REALTIME*2", "b=$a+1"});
  CHECK(fs::exists(database + ".metrics"));
  CHECK(load_derived_metrics(database) == std::vector<std::string>{"a=$REALTIME*2", "b=$a+1"});
  const std::string elsewhere = "/proc/run.db";  // nobody writes there
  CHECK(save_derived_metrics(elsewhere, {"c=$REALTIME"}).find("beside the database nothing") !=
        std::string::npos);
  CHECK(load_derived_metrics(elsewhere) == std::vector<std::string>{"c=$REALTIME"});
}

TEST_CASE("What is remembered of a private database is as private") {
  const StateHome home;
  const std::string database = (home.path() / "run.db").string();
  std::ofstream(database) << "private";
  fs::permissions(database, fs::perms::owner_read | fs::perms::owner_write);
  save_derived_metrics(database, {"a=$REALTIME*2"});
  const auto remembered = state_file(database, ".view.json");
  REQUIRE(remembered);
  REQUIRE(write_whole(*remembered, "{}", database));
  for (const fs::path& file : {fs::path(database + ".metrics"), *remembered}) {
    const fs::perms shared = fs::status(file).permissions() & (fs::perms::group_all | fs::perms::others_all);
    CHECK(shared == fs::perms::none);
  }
}

}  // namespace culprit::viewer::tui::testing
