#include "launcher/event_probe.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace event_refusal_test {

using namespace culprit::launcher;

namespace {

/// A file that holds `text`, for as long as this lives.
class SettingFile {
 public:
  explicit SettingFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("culprit-paranoid-" + std::to_string(getpid()))) {
    std::ofstream(path_) << text;
  }
  ~SettingFile() { std::filesystem::remove(path_); }
  SettingFile(const SettingFile&) = delete;
  SettingFile& operator=(const SettingFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("the kernel's setting is read, be it negative or absent") {
  CHECK(read_paranoid(SettingFile("4\n").path()) == 4);
  CHECK(read_paranoid(SettingFile("-1\n").path()) == -1);
  CHECK_FALSE(read_paranoid(SettingFile("none\n").path()).has_value());
  CHECK_FALSE(read_paranoid("/nowhere/at/all").has_value());
}

TEST_CASE("where the setting forbids an event, its value and the remedy are named") {
  const std::string all = explain_refusal(EACCES, false, read_paranoid(SettingFile("4\n").path()));
  CHECK(all ==
        "/proc/sys/kernel/perf_event_paranoid: set to 4, which forbids counting to all but root (run: sudo "
        "sysctl "
        "kernel.perf_event_paranoid=1, or use -e CPUTIME)");
  CHECK_THAT(explain_refusal(EPERM, true, 2),
             Catch::Contains("set to 2, which forbids counting what happens in the "
                             "kernel"));
}

TEST_CASE("where the setting is not the reason, it is not blamed") {
  for (const auto& text : {explain_refusal(EACCES, false, 2), explain_refusal(EPERM, true, 1),
                           explain_refusal(EPERM, false, std::nullopt)}) {
    CHECK_THAT(text, Catch::Contains("seccomp") && !Catch::Contains("sysctl"));
  }
  CHECK_THAT(explain_refusal(ENOENT, false, 4), Catch::Contains("virtual machine"));
  CHECK_THAT(explain_refusal(EMFILE, false, 2), Catch::Contains("ulimit -n"));
  CHECK_THAT(explain_refusal(ENOSYS, false, 2), Catch::Contains("without perf events"));
  CHECK_THAT(explain_refusal(EINVAL, false, 2), Catch::Contains("Invalid argument"));
}

}  // namespace event_refusal_test
