// Finds how much memory the process can still get: what the kernel calls available, and for its control group
// and each one around that, the limit less what is used. Pages of files that nobody used lately count as free
// there, as the kernel would give them up first.
#include "storage/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace culprit::storage {

namespace {

namespace fs = std::filesystem;

/// The number in a file; nothing where there is none, such as "max".
std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// Of a file of lines with a name and a number each.
std::optional<std::uint64_t> number_in(const fs::path& path, const std::string& wanted) {
  std::ifstream file(path);
  std::string name, rest;
  for (std::uint64_t number = 0; file >> name >> number; std::getline(file, rest)) {
    if (name == wanted) return number;
  }
  return std::nullopt;
}

/// What a version of control groups calls a limit, what counts against it, and what of that is pages of files
/// that nobody uses any more.
struct Names {
  const char* limit;
  const char* usage;
  const char* unused;
};

/// Of a group and those that it is in.
std::uint64_t left_in_groups(const fs::path& mount, std::string group, const Names& names) {
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  for (;; group.erase(group.rfind('/'))) {
    const fs::path at = mount.string() + group;
    const auto limit = number_in(at / names.limit), usage = number_in(at / names.usage);
    const std::uint64_t unused = number_in(at / "memory.stat", names.unused).value_or(0);
    if (limit && usage) {
      const std::uint64_t used = *usage - std::min(*usage, unused);
      left = std::min(left, *limit - std::min(*limit, used));
    }
    if (group.find('/') == std::string::npos) return left;
  }
}

}  // namespace

std::uint64_t free_memory(const fs::path& root) {
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  if (const auto kib = number_in(root / "proc/meminfo", "MemAvailable:")) left = *kib * 1024;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:/group
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      left = std::min(
          left,
          left_in_groups(root / "sys/fs/cgroup", group,
                         {.limit = "memory.max", .usage = "memory.current", .unused = "inactive_file"}));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left, left_in_groups(root / "sys/fs/cgroup/memory", group,
                                           {.limit = "memory.limit_in_bytes",
                                            .usage = "memory.usage_in_bytes",
                                            .unused = "total_inactive_file"}));
    }
  }
  return left == std::numeric_limits<std::uint64_t>::max() ? 0 : left;
}

}  // namespace culprit::storage
