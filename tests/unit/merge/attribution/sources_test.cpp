// Source files that are copied into the database.
#include "merge/attribution/sources.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sources_test {

using namespace culprit;
namespace fs = std::filesystem;

namespace {

struct Place {
  fs::path path = fs::temp_directory_path() / ("merge-sources-" + std::to_string(::getpid()));
  Place() { fs::create_directories(path); }
  ~Place() { fs::remove_all(path); }
};

std::vector<database::Context> contexts_in(std::size_t files) {
  std::vector<database::Context> contexts(files);
  for (std::size_t i = 0; i < files; ++i) contexts[i].file = static_cast<database::StringId>(i);
  return contexts;
}

merge::SourceRights own_rights(const Place& place) {
  return {.readers = {files::Reader(::geteuid())}, .shared = fs::canonical(place.path)};
}

/// Which of the place's files are copied, by name.
std::vector<std::string> copied(const Place& place, const merge::SourceRights& rights,
                                const std::vector<std::string>& names) {
  std::vector<std::string> strings;
  for (const std::string& name : names) strings.push_back(place.path / name);
  std::vector<std::string> found;
  const auto sources =
      merge::copy_sources(contexts_in(strings.size()), strings, merge::read_source_for(rights));
  for (const database::SourceFile& source : sources.files)
    found.push_back(fs::path(strings[source.path]).filename());
  return found;
}

}  // namespace

TEST_CASE("sources are copied once each, and only what is a readable file of sensible size") {
  const Place place;
  std::ofstream(place.path / "a.cpp") << "int main() {}\n";
  std::ofstream(place.path / "generated.c") << std::string(merge::kMaxSourceBytes + 1, '\n');
  const std::vector<std::string> strings = {
      "",         place.path / "a.cpp", place.path / "generated.c", place.path / "gone.f90",
      "a.cpp",  // relative: whatever lies there now
      place.path, "/dev/zero"};
  std::vector<database::Context> contexts = contexts_in(strings.size());
  contexts.push_back(contexts[1]);
  const std::vector<database::SourceFile> copies =
      merge::copy_sources(contexts, strings, merge::read_source_for(own_rights(place))).files;
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].path == 1);
  CHECK(copies[0].text == "int main() {}\n");
}

TEST_CASE("what is no plain text in a regular file is not copied, and nothing is waited for") {
  const Place place;
  std::ofstream(place.path / "latin1.f") << "! d\xe9j\xe0 vu\r\n\tx = 1\f\n";
  std::ofstream(place.path / "key") << std::string("\0\1\2binary", 9);
  std::ofstream(place.path / "escapes.c") << "// \033]0;title\007\n";
  std::ofstream(place.path / "empty.c") << "";
  REQUIRE(::mkfifo((place.path / "fifo.c").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", place.path / "device.c");
  fs::create_symlink("/proc/kmsg", place.path / "kernel.c");
  fs::create_symlink("latin1.f", place.path / "link.f");
  const std::vector<std::string> names = {"latin1.f", "key",      "escapes.c", "empty.c",
                                          "fifo.c",   "device.c", "kernel.c",  "link.f"};
  CHECK(copied(place, own_rights(place), names) == std::vector<std::string>{"latin1.f", "link.f"});
}

TEST_CASE("what the user who measured may not read is not copied for whoever merges") {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == kNobody) return;
  const Place place;
  fs::create_directory(place.path / "private");
  for (const char* name : {"open.c", "group.c", "secret.c", "private/open.c"})
    std::ofstream(place.path / name) << "int main() {}\n";
  fs::permissions(place.path / "group.c", fs::perms(0640));
  fs::permissions(place.path / "secret.c", fs::perms(0600));
  fs::permissions(place.path / "private", fs::perms(0700));
  fs::create_symlink("secret.c", place.path / "link.c");
  const std::vector<std::string> names = {"open.c", "group.c", "secret.c", "private/open.c", "link.c"};
  CHECK(copied(place, own_rights(place), names).size() == names.size());
  merge::SourceRights theirs = own_rights(place);
  theirs.readers = {files::Reader(kNobody)};
  CHECK(copied(place, theirs, names) == std::vector<std::string>{"open.c"});
  theirs.readers.emplace_back(::geteuid());
  CHECK(copied(place, theirs, names) == std::vector<std::string>{"open.c"});
}

TEST_CASE("copies are for those who may read all the sources and reach them") {
  const Place place;
  fs::create_directory(place.path / "private");
  for (const char* name : {"open.c", "group.c", "private/open.c"})
    std::ofstream(place.path / name) << "int main() {}\n";
  fs::permissions(place.path / "open.c", fs::perms(0644));
  fs::permissions(place.path / "group.c", fs::perms(0640));
  fs::permissions(place.path / "private", fs::perms(0700));
  const int own = ::open((place.path / "open.c").c_str(), O_RDONLY | O_CLOEXEC);
  const auto mode_with = [&](const char* name, const fs::path& shared) {
    merge::SourceRights rights = own_rights(place);
    rights.shared = fs::canonical(shared);
    const auto sources = merge::copy_sources(contexts_in(1), std::vector<std::string>{place.path / name},
                                             merge::read_source_for(rights));
    return sources.readership.mode(0666, own);
  };
  CHECK(mode_with("open.c", place.path) == 0666);
  CHECK(mode_with("group.c", place.path) == 0660);
  CHECK(mode_with("private/open.c", place.path) == 0600);
  CHECK(mode_with("private/open.c", place.path / "private") == 0666);  // who finds the copy came the same way
  ::close(own);
}

TEST_CASE("a source that does not answer ends the copying of sources, not the merge") {
  const std::vector<std::string> strings = {"/a.c", "/stuck.c", "/z.c"};
  const auto read = [](const fs::path& path, files::Readership&) {
    if (path == "/stuck.c") std::this_thread::sleep_for(std::chrono::hours(1));
    return std::string("int main() {}\n");
  };
  const merge::CopiedSources sources =
      merge::copy_sources(contexts_in(strings.size()), strings, read, std::chrono::milliseconds(200));
  REQUIRE(sources.files.size() == 1);
  CHECK(sources.files[0].path == 0);
  CHECK(sources.problem.starts_with("/stuck.c: "));
}

}  // namespace sources_test
