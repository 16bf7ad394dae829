#include "storage/free_memory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <stdlib.h>

namespace {

using culprit::storage::free_memory;
namespace fs = std::filesystem;

/// A system's root directory as it might be, until the end.
class Root {
 public:
  Root() {
    std::string name = (fs::temp_directory_path() / "culprit-root-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Root() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write_meminfo(const Root& root) {
  root.write("proc/meminfo",
             "MemTotal:  9000 kB\nMemFree:   1000 kB\nMemAvailable:   5000 kB\nHugePages_Total: 0\n");
}

}  // namespace

TEST_CASE("free memory is what the system says") {
  const Root root;
  CHECK(free_memory(root.path()) == 0);
  write_meminfo(root);
  CHECK(free_memory(root.path()) == 5000 * 1024);
  CHECK(free_memory() > 0);
}

TEST_CASE("free memory is no more than the control groups leave, of either version") {
  const Root root;
  write_meminfo(root);
  root.write("proc/self/cgroup", "4:cpu,memory:/job/step\n1:name=systemd:/\n0::/user/one\nnonsense\n");
  CHECK(free_memory(root.path()) == 5000 * 1024);
  root.write("sys/fs/cgroup/user/one/memory.max", "max\n");
  root.write("sys/fs/cgroup/user/one/memory.current", "100\n");
  CHECK(free_memory(root.path()) == 5000 * 1024);
  root.write("sys/fs/cgroup/user/memory.max", "4000000\n");
  root.write("sys/fs/cgroup/user/memory.current", "1000000\n");
  CHECK(free_memory(root.path()) == 3000000);
  root.write("sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file 300000\nactive_file 70\n");
  CHECK(free_memory(root.path()) == 3300000);
  root.write("sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "2000000\n");
  root.write("sys/fs/cgroup/memory/job/step/memory.usage_in_bytes", "500000\n");
  CHECK(free_memory(root.path()) == 1500000);
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "700\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "800\n");
  CHECK(free_memory(root.path()) == 0);
}
