#include "launcher/program.hpp"

#include "damaged_file.hpp"
#include "launcher/dynamic_section.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <elf.h>
#include <unistd.h>

namespace program_test {

using culprit::launcher::Failure;
using culprit::launcher::find_program;
using culprit::launcher::Machine;
using culprit::launcher::read_dynamic_section;
namespace fs = std::filesystem;

namespace {

struct Workspace {
  Workspace() : path(fs::temp_directory_path() / ("culprit-program-" + std::to_string(getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Workspace() { fs::remove_all(path); }
  [[nodiscard]] fs::path write(const std::string& name, const std::string& content,
                               bool executable = true) const {
    std::ofstream(path / name, std::ios::binary) << content;
    if (executable) fs::permissions(path / name, fs::perms::owner_all);
    return path / name;
  }
  fs::path path;
};

/// Of this program, which an emulator knows by its own path only.
fs::path own_path() {
  return fs::read_symlink("/proc/self/exe");
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The PATH of this process, until it ends. Under an emulator, the programs of the machine are another
/// processor's.
class SearchPath {
 public:
  explicit SearchPath(const fs::path& only) : before_(getenv("PATH")) { setenv("PATH", only.c_str(), 1); }
  SearchPath(const SearchPath&) = delete;
  SearchPath& operator=(const SearchPath&) = delete;
  ~SearchPath() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

int status_of(const std::string& name) {
  try {
    find_program(name);
  } catch (const Failure& failure) {
    return failure.status();
  }
  return 0;
}

}  // namespace

TEST_CASE("a dynamically linked program is found with its loader and libraries") {
  const auto program = find_program("/proc/self/exe");
  CHECK(program.loader.find("ld-linux") != std::string::npos);
  CHECK(std::find(program.needed.begin(), program.needed.end(), "libc.so.6") != program.needed.end());
  CHECK_FALSE(program.script);
}

TEST_CASE("the PATH is searched as a shell does") {
  const Workspace here;
  fs::create_directory(here.path / "second");
  fs::create_symlink(own_path(), here.path / "second" / "found");
  const fs::path passed_over = here.write("found", "not executable", false);
  const SearchPath path(here.path.string() + ":/nowhere:" + (here.path / "second").string());
  INFO(passed_over);
  CHECK(find_program("found").path == (here.path / "second" / "found").string());
}

TEST_CASE("what cannot be run has the shell's exit statuses") {
  const Workspace here;
  CHECK(status_of("no-such-program-anywhere") == culprit::launcher::kNotFound);
  CHECK(status_of((here.path / "absent").string()) == culprit::launcher::kNotFound);
  CHECK(status_of("") == culprit::launcher::kNotFound);
  CHECK(status_of(here.path.string()) == culprit::launcher::kCannotRun);
  CHECK(status_of(here.write("text", "hello", false).string()) == culprit::launcher::kCannotRun);
}

TEST_CASE("a script is judged by its interpreter") {
  const Workspace here;
  fs::create_symlink(own_path(), here.path / "sh");
  const SearchPath path(here.path);
  const auto script = find_program(here.write("script", "#!/usr/bin/env sh\ntrue\n").string());
  CHECK(script.script);
  CHECK(script.image == (here.path / "sh").string());
  const auto plain = find_program(here.write("plain", "true\n").string());
  CHECK(plain.script);
  CHECK(plain.image.empty());
}

TEST_CASE("other architectures and static programs are refused") {
  const Workspace here;
  std::string image = read_file("/proc/self/exe");
  std::string other = image;
  other[18] = 0x28;  // e_machine: 32-bit ARM
  CHECK(status_of(here.write("other", other).string()) == culprit::launcher::kCannotRun);
  std::string narrow = image;
  narrow[4] = 1;  // ELFCLASS32
  CHECK(status_of(here.write("narrow", narrow).string()) == culprit::launcher::kCannotRun);
}

TEST_CASE("damaged programs neither crash nor mislead") {
  const Workspace here;
  const std::string image = read_file("/proc/self/exe").substr(0, 20000);
  damage::File file(here.path / "damaged", {image.begin(), image.end()});
  damage::cut_each(file, [&](std::size_t size) {
    if (size < 16 && read_dynamic_section(file.path().string())) FAIL("cut at " << size);
  });
  // A wrong magic makes it no ELF file; all else gives nothing but a result.
  damage::flip_each(file, [&](std::size_t at) {
    const bool read = read_dynamic_section(file.path().string()).has_value();
    if (read == (at < SELFMAG)) FAIL("byte " << at);
  });
  CHECK(read_dynamic_section(file.path().string()).has_value());
}

TEST_CASE("a program that names libraries without end costs what some thousand cost") {
  const Workspace here;
  constexpr std::size_t kNames = 100'000;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = culprit::machine::kElfMachine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  Elf64_Phdr load{}, dynamic{}, again{};
  load.p_type = PT_LOAD;
  load.p_filesz = 1 << 20;
  dynamic.p_type = again.p_type = PT_DYNAMIC;
  dynamic.p_offset = sizeof header + 3 * sizeof load;
  dynamic.p_filesz = (kNames + 1) * sizeof(Elf64_Dyn);
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  for (const Elf64_Phdr* segment : {&load, &dynamic, &again})
    image.append(reinterpret_cast<const char*>(segment), sizeof *segment);
  Elf64_Dyn entry{};
  entry.d_tag = DT_STRTAB;
  entry.d_un.d_ptr = 1;  // "ELF..."
  image.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  entry = {.d_tag = DT_NEEDED, .d_un = {}};
  for (std::size_t i = 0; i < kNames; ++i) image.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  const auto section = read_dynamic_section(here.write("names", image).string());
  REQUIRE(section.has_value());
  CHECK(section->needed.size() == 4096);
  CHECK(section->needed.at(0).starts_with("ELF"));
}

}  // namespace program_test
