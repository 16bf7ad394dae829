#include "stacks/processes.hpp"

#include "stacks/address_space.hpp"
#include "stacks/job.hpp"
#include "stacks/refusal.hpp"

#include <cerrno>
#include <csignal>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit::stacks::testing {
namespace {

/// A child with an environment of its own, until the end of the test.
class Child {
 public:
  explicit Child(std::vector<std::string> environment)
      : variable_(environment.front().substr(0, environment.front().find('='))) {
    pid_ = fork();
    if (pid_ != 0) return;
    std::vector<char*> variables;
    for (std::string& each : environment) variables.push_back(each.data());
    variables.push_back(nullptr);
    char name[] = "sleep", time[] = "600";
    char* const arguments[] = {name, time, nullptr};
    execve("/bin/sleep", arguments, variables.data());
    _exit(1);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Once it is what it is to become: a process has its new name before its new environment.
  pid_t pid() const {
    while (true) {
      const auto entry = find_process(pid_);
      if (!entry || (entry->name == "sleep" && Environment(pid_).find(variable_))) return pid_;
      usleep(1000);
    }
  }

 private:
  std::string variable_;
  pid_t pid_ = 0;
};

TEST_CASE("A process's rank is what its launcher put into its environment") {
  const Child rank({"PATH=/bin", "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "SLURM_PROCID=0"});
  const Environment environment(rank.pid());
  CHECK(rank_of(environment) == 3);
  CHECK(ranks_of_job(environment) == 8);
  CHECK(environment.find("PATH") == "/bin");
  CHECK_FALSE(environment.find("PAT"));
  const Child none({"PMI_RANK=x", "PMI_SIZE="});
  CHECK_FALSE(rank_of(Environment(none.pid())));
}

TEST_CASE("The ranks below a launcher are found, and those elsewhere counted") {
  const Child first({"PMI_RANK=1", "PMI_SIZE=4"}), second({"PMI_RANK=0", "PMI_SIZE=4"}), other({"A=1"});
  first.pid();
  second.pid();
  other.pid();
  const Job job = job_below(getpid(), true);
  REQUIRE(job.targets.size() == 2);
  CHECK(job.targets[0].rank == 0);
  CHECK(job.targets[0].pid == second.pid());
  CHECK(job.targets[1].pid == first.pid());
  CHECK(job.notes.empty());
  CHECK(missing_note(job, {0, 1}, false)
            .starts_with("2 of 4 ranks are not here: they have ended, or run on other hosts ("));
  CHECK(missing_note(job, {0, 1, 3}, true)
            .starts_with("1 of 4 ranks was found on no host: it has ended, or runs "));
  CHECK(missing_note(job, {0, 1, 2, 3}, true).empty());
}

TEST_CASE("Who is no launcher is refused") {
  const Child child({"A=1"});
  CHECK_THROWS_WITH(job_below(child.pid(), true), Catch::Contains("no process below"));
}

TEST_CASE("Of the processes named, those that exist are looked at, and the others are reported") {
  const Child child({"A=1"});
  const Job job = job_of_processes({1 << 22, child.pid()});
  REQUIRE(job.targets.size() == 1);
  CHECK(job.targets[0].pid == child.pid());
  REQUIRE(job.unseen.size() == 1);
  CHECK_THAT(job.unseen[0], Catch::Contains("process 4194304: there is none on this host"));
}

TEST_CASE("A refusal names the tracer that a process has already") {
  CHECK_THAT(explain_refusal(getpid(), ENOSYS), Catch::Contains("cannot be traced"));
  CHECK_THAT(explain_refusal(getpid(), EPERM), Catch::Contains("not permitted"));
}

TEST_CASE("An address space knows its modules and reads what lasts only") {
  AddressSpace own(getpid());
  REQUIRE(own.error() == 0);
  static const std::uint64_t kConstant = 0x123456789abcdef0;
  const auto address = [](const void* place) { return reinterpret_cast<std::uint64_t>(place); };
  const LoadedModule* const module = own.module_at(address(&kConstant));
  REQUIRE(module != nullptr);
  CHECK(module->key.path.ends_with("unit_stacks"));
  CHECK_FALSE(module->key.build_id.empty());
  CHECK(module->entries > 100);
  CHECK(own.lasting_word(address(&kConstant)) == kConstant);
  const std::vector<std::uint64_t> on_heap(100'000, 1);
  const std::uint64_t on_stack = 1;
  own.refresh();
  CHECK_FALSE(own.lasting_word(address(on_heap.data() + 5000)));
  CHECK_FALSE(own.lasting_word(address(&on_stack)));
  CHECK(own.module_at(16) == nullptr);
}

}  // namespace
}  // namespace culprit::stacks::testing
