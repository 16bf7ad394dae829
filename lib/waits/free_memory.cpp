#include "waits/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace culprit::waits {

namespace {

namespace fs = std::filesystem;

/// The number in a file; nothing where there is none, such as "max".
std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> available(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kib = 0; file >> name >> kib;) {
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return std::nullopt;
}

/// What a version of control groups calls a limit and what counts against it.
struct Names {
  const char* limit;
  const char* usage;
};

/// Of a group and those that it is in.
std::uint64_t left_in_groups(const fs::path& mount, std::string group, const Names& names) {
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  for (;; group.erase(group.rfind('/'))) {
    const fs::path at = mount.string() + group;
    const auto limit = number_in(at / names.limit), usage = number_in(at / names.usage);
    if (limit && usage) left = std::min(left, *limit - std::min(*limit, *usage));
    if (group.find('/') == std::string::npos) return left;
  }
}

}  // namespace

std::uint64_t free_memory(const fs::path& root) {
  std::uint64_t left = available(root).value_or(std::numeric_limits<std::uint64_t>::max());
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:/group
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      left = std::min(left, left_in_groups(root / "sys/fs/cgroup", group,
                                           {.limit = "memory.max", .usage = "memory.current"}));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left,
                      left_in_groups(root / "sys/fs/cgroup/memory", group,
                                     {.limit = "memory.limit_in_bytes", .usage = "memory.usage_in_bytes"}));
    }
  }
  return left == std::numeric_limits<std::uint64_t>::max() ? 0 : left;
}

}  // namespace culprit::waits
