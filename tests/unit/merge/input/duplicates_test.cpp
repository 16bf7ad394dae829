#include "merge/input/lost_files.hpp"

#include <catch2/catch.hpp>

namespace duplicates_test {

namespace merge = culprit::merge;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Of a rank, that ran for ten seconds.
merge::ProcessSummary process(std::uint64_t pid, std::uint64_t start_s) {
  merge::ProcessSummary summary;
  summary.path = std::to_string(pid) + "-" + std::to_string(start_s) + ".culprit";
  summary.pid = pid;
  summary.rank = 3;
  summary.start_ns = start_s * kSecond;
  summary.end_ns = (start_s + 10) * kSecond;
  summary.start_realtime_ns = static_cast<std::int64_t>((1'000'000 + start_s) * kSecond);
  summary.key = pid * 1000 + start_s;
  return summary;
}

std::vector<std::string> left_out(const std::vector<merge::ProcessSummary>& processes) {
  merge::Duplicates duplicates;
  for (const merge::ProcessSummary& one : processes) duplicates.add(one);
  std::vector<std::string> paths;
  for (const merge::LostFile& file : duplicates.found()) paths.push_back(file.path);
  return paths;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("a process may have several files, and a rank several processes after each other") {
  CHECK(left_out({process(1, 0), process(1, 5)}).empty());   // by exec
  CHECK(left_out({process(1, 0), process(2, 10)}).empty());  // a script that runs one program after the other
  auto child = process(2, 3);
  child.forked = true;
  CHECK(left_out({process(1, 0), child}).empty());
  CHECK(left_out({child, process(3, 0)}).empty());
  auto other = process(2, 3);
  other.rank = 4;
  CHECK(left_out({process(1, 0), other}).empty());
  auto none = process(2, 3);
  none.rank.reset();
  CHECK(left_out({none, process(1, 0)}).empty());
}

TEST_CASE("copies, and processes that are one rank at the same time, are found") {
  auto copy = process(1, 0);
  copy.path = "copy.culprit";
  CHECK(left_out({process(1, 0), copy, copy}) == Paths{"copy.culprit", "copy.culprit"});
  copy.key = 7;  // another process of this number on another host of that name, started at the same instant
  CHECK(left_out({process(1, 0), copy}).empty());
  CHECK(left_out({process(1, 0), process(2, 9)}) == Paths{"2-9.culprit"});
  CHECK(left_out({process(1, 0), process(2, 12), process(3, 15)}) == Paths{"3-15.culprit"});
  CHECK(left_out({process(5, 0), process(6, 2), process(7, 4)}) == Paths{"6-2.culprit", "7-4.culprit"});
}

}  // namespace duplicates_test
