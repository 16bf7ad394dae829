#include "stacks/tree.hpp"

#include "observed.hpp"

#include <catch2/catch.hpp>

namespace culprit::stacks::testing {
namespace {

/// `main{solve{MPI_Allreduce}load_mesh}`, each with its number of visitors.
std::string shape(const std::vector<TreeNode>& nodes) {
  std::string text;
  for (const TreeNode& node : nodes) {
    text += node.frame.name + ':' + std::to_string(node.visitors.size());
    if (!node.children.empty()) text += '{' + shape(node.children) + '}';
  }
  return text;
}

TEST_CASE(
    "Paths of all threads are one tree, most visited first, without start-up and what lies inside MPI") {
  Observation job;
  add(job, rank(0), {in_read(), in_read()});
  add(job, rank(1), {in_allreduce(), in_allreduce()});
  add(job, rank(2), {in_allreduce(), in_allreduce()});
  const auto roots = unite(job, {});
  REQUIRE(roots.size() == 1);
  CHECK(shape(roots[0].children) == "main:3{solve:2{MPI_Allreduce:2}load_mesh:1{read:1}}");
  const TreeNode& main = roots[0].children[0];
  CHECK(main.frame.line == 0);  // ranks are at different lines of it
  CHECK(main.children[0].frame.line == 20);
  CHECK(main.children[0].visitors == std::vector<TreeNode::Visitor>{{1, 2}, {2, 2}});
}

TEST_CASE("With everything, frames are apart by line and whole") {
  Observation job;
  add(job, rank(0), {in_read()});
  add(job, rank(1), {in_allreduce()});
  const auto roots = unite(job, {.by_line = true, .inside = true, .start_up = true});
  REQUIRE(roots.size() == 1);
  CHECK(shape(roots[0].children) ==
        "_start:2{main:1{load_mesh:1{read:1}}main:1{solve:1{MPI_Allreduce:1{poll:1}}}}");
}

TEST_CASE("A thread that moves is in each place that it was seen in") {
  Observation job;
  add(job, rank(0), {in_read(), in_allreduce(), in_read()});
  const auto roots = unite(job, {});
  REQUIRE(roots.size() == 1);
  const TreeNode& main = roots[0].children[0];
  CHECK(main.visitors == std::vector<TreeNode::Visitor>{{0, 3}});
  REQUIRE(main.children.size() == 2);
  CHECK(main.children[0].frame.name == "load_mesh");
  CHECK(main.children[0].visitors == std::vector<TreeNode::Visitor>{{0, 2}});
  CHECK(main.children[1].visitors == std::vector<TreeNode::Visitor>{{0, 1}});
}

TEST_CASE("Threads and partial paths have roots of their own") {
  Observation job;
  add(job, process(7), {in_read()});
  add(job, process(7, 1), {{frame("worker", 3)}});
  add(job, process(7, 2), {{frame("generated")}});
  job.paths.back().root = Path::Root::partial;
  const auto roots = unite(job, {});
  REQUIRE(roots.size() == 3);
  CHECK(roots[0].root == Path::Root::program);
  CHECK(roots[1].root == Path::Root::thread);
  CHECK(roots[2].root == Path::Root::partial);
}

TEST_CASE("A program's own function may have the name of a start-up function") {
  CHECK(is_start_up(frame("start_thread", 0, "libc.so.6")));
  CHECK_FALSE(is_start_up(frame("start_thread", 0, "app")));
  CHECK(is_start_up(frame("_start", 0, "app")));
  CHECK(is_of_system(frame("MPI_Send", 0, "app")));  // linked statically
  CHECK_FALSE(is_of_system(frame("solve", 0, "app")));
  Frame lock = frame("std::mutex::lock()", 100);
  lock.file = "/usr/include/c++/12/bits/std_mutex.h";
  CHECK(is_of_system(lock));
}

}  // namespace
}  // namespace culprit::stacks::testing
