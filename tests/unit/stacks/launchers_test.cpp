#include "stacks/launchers.hpp"

#include "stacks/commands.hpp"
#include "stacks/elsewhere.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit::stacks::testing {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("A job's name is the same on each of its hosts") {
  for (const char* const text : {"openmpi:1460994048", "hydra:node1:32907", "slurm:4711.0", "slurm:4711"}) {
    const auto name = parse_job_name(text);
    REQUIRE(name);
    CHECK(text_of(*name) == text);
  }
  for (const char* const text : {"4711", "openmpi", "openmpi:", "pbs:1", ""})
    CHECK_FALSE(parse_job_name(text));
}

TEST_CASE("Open MPI's mpirun starts daemons by an agent") {
  const auto start = daemon_start(
      {"/usr/bin/python3", "/opt/agent", "far1",
       R"-( orted -mca ess "env" -mca ess_base_jobid "1460994048" -mca orte_node_regex "vm,far[1:1-2],x[3:8-9]@0(5)" )-"});
  REQUIRE(start);
  CHECK(text_of(start->job) == "openmpi:1460994048");
  CHECK(start->hosts == Words{"far1", "far2", "x008", "x009"});
  const auto fifth =
      daemon_start({"ssh", "user@far1",
                    "PATH=/opt/bin:$PATH ; /opt/bin/prted --prtemca ess_base_nspace \"prterun-vm-77@0\""});
  REQUIRE(fifth);
  CHECK(text_of(fifth->job) == "openmpi:prterun-vm-77");
  CHECK(fifth->hosts == Words{"user@far1"});
}

TEST_CASE("MPICH's mpiexec says how it reaches hosts") {
  const auto start =
      daemon_start({"/usr/bin/ssh", "-x", "far1.cluster", "\"/usr/bin/hydra_pmi_proxy\"", "--control-port",
                    "vm:32907", "--launcher", "ssh", "--launcher-exec", "/opt/agent", "--proxy-id", "1"});
  REQUIRE(start);
  CHECK(text_of(start->job) == "hydra:vm:32907");
  CHECK(start->hosts == Words{"far1.cluster"});
  CHECK(start->agent == "ssh");
  CHECK(start->agent_program == "/opt/agent");
}

TEST_CASE("Within Slurm launchers start daemons by srun") {
  const auto open_mpi =
      daemon_start({"srun", "--kill-on-bad-exit", "--nodes=2", "--nodelist=node[02-03]", "orted", "-mca",
                    "ess", "\"slurm\"", "-mca", "ess_base_jobid", "\"131072\""});
  REQUIRE(open_mpi);
  CHECK(open_mpi->node_list == "node[02-03]");
  CHECK(open_mpi->hosts.empty());
  const auto hydra = daemon_start(
      {"/usr/bin/srun", "--nodelist", "a,b", "-N", "2", "/usr/bin/hydra_pmi_proxy", "--control-port", "a:1"});
  REQUIRE(hydra);
  CHECK(hydra->node_list == "a,b");
}

TEST_CASE("What starts no daemon elsewhere is none") {
  CHECK_FALSE(daemon_start({}));
  CHECK_FALSE(daemon_start({"orted", "-mca", "ess_base_jobid", "65536"}));
  CHECK_FALSE(daemon_start({"sh", "-c", "orted -mca ess_base_jobid 65536"}));
  CHECK_FALSE(daemon_start({"ssh", "far1", "orted"}));
  CHECK_FALSE(daemon_start({"grep", "orted"}));
  CHECK_FALSE(daemon_start({"srun", "-n", "2", "orted", "-mca", "ess_base_jobid", "65536"}));
  CHECK(job_name_of_daemon(Words{"/usr/bin/hydra_pmi_proxy", "--control-port", "vm:1"}) ==
        parse_job_name("hydra:vm:1"));
  CHECK_FALSE(job_name_of_daemon(Words{"ssh", "far1", "hydra_pmi_proxy", "--control-port", "vm:1"}));
}

TEST_CASE("Lists of nodes are expanded, whatever they hold") {
  CHECK(expand_node_regex("a,b,c@0(3)") == Words{"a", "b", "c"});
  CHECK(expand_node_regex("n[2:1,5-6]-ib@0(3)") == Words{"n01-ib", "n05-ib", "n06-ib"});
  CHECK(expand_node_regex("n[2:6-5]").empty());
  for (const char* const odd : {"n[", "n[:]", "n[2:x]", "]n[2:1-", ",,"})
    CHECK_NOTHROW(expand_node_regex(odd));
  CHECK(expand_node_regex("n[1:0-4294967295]").size() == 100'000);
}

TEST_CASE("Programs are started as the launcher starts its own") {
  Launcher launcher{.job = {Means::open_mpi, "65536"},
                    .pid = 1,
                    .means = Means::open_mpi,
                    .program = "/usr/bin/orterun",
                    .options = {"--mca", "plm_rsh_agent", "/opt/agent"},
                    .allocation = "7",
                    .hosts = {}};
  const Words program = {"/opt/bin/viewer-cli", "stacks"};
  CHECK(command_on(launcher, "far1", program) ==
        Words{"/usr/bin/orterun", "--mca", "plm_rsh_agent", "/opt/agent", "--host", "far1", "-n", "1",
              "--oversubscribe", "--bind-to", "none", "/opt/bin/viewer-cli", "stacks"});
  launcher.means = Means::hydra;
  launcher.options = {"-launcher", "ssh"};
  CHECK(command_on(launcher, "far1", program) == Words{"/usr/bin/orterun", "-launcher", "ssh", "-hosts",
                                                       "far1", "-n", "1", "/opt/bin/viewer-cli", "stacks"});
  launcher.means = Means::slurm;
  launcher.program = "srun";
  launcher.options = {};
  CHECK(command_on(launcher, "far1", program) == Words{"srun", "--jobid=7", "--overlap", "--quiet",
                                                       "--nodes=1", "--ntasks=1", "--nodelist=far1",
                                                       "/opt/bin/viewer-cli", "stacks"});
}

TEST_CASE("Nothing is started for the job of another user") {
  const auto launched_by = [](pid_t pid) {
    return Launcher{.job = {Means::hydra, "node1:77"},
                    .pid = pid,
                    .program = "/bin/false",
                    .options = {},
                    .allocation = {},
                    .hosts = {"far1", "far2"}};
  };
  std::vector<std::string> notes;
  const std::vector<Launcher> own = {launched_by(getpid())};
  REQUIRE(elsewhere_of(own, notes).size() == 1);
  CHECK(elsewhere_of(own, notes)[0].subject == Words{"--job", "hydra:node1:77"});
  CHECK(notes.empty());
  if (geteuid() != 0) return;  // cannot become another
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) == 0) pause();
    _exit(0);
  }
  while (owner_of(child) != 65534U) {
    if (waitpid(child, nullptr, WNOHANG) == child) {
      WARN("not checked: this name space knows no other user");
      return;
    }
    usleep(1000);
  }
  const std::vector<Launcher> theirs = {launched_by(child)};
  CHECK(elsewhere_of(theirs, notes).empty());
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Contains("the job runs on far1, far2 too: ") &&
                           Catch::Contains("alone may start a look there (run viewer-cli as "));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

/// Waits until a process that was killed is gone, which it need not be at once; false where it goes on for
/// long.
bool ends(pid_t pid) {
  constexpr int kLooks = 60'000;
  for (int i = 0; i < kLooks && find_process(pid); ++i) usleep(1000);
  return !find_process(pid);
}

TEST_CASE("A command's output, status and time are bounded") {
  const Words environment = own_environment();
  const Answer good = run_command({{"sh", "-c", "echo out; echo err >&2; exit 3"}, environment}, 60);
  CHECK(good.out == "out\n");
  CHECK(good.err == "err\n");
  CHECK(good.status == 3);
  CHECK_FALSE(good.late);
  CHECK(run_command({{"/no/such/program"}, environment}, 60).status == 127);
  CHECK(run_command({{"cat"}, environment}, 60).out.empty());  // no input, and no terminal
  constexpr double kLimit = 2;  // s; a shell on a busy machine has written by then
  const Answer late = run_command({{"sh", "-c", "echo some; sleep 600"}, environment}, kLimit);
  CHECK(late.late);
  CHECK(late.out == "some\n");
  // Also what has left its group of processes, as agents of mpirun do.
  const Answer apart =
      run_command({{"bash", "-c", "set -m; sleep 600 & echo $!; wait"}, environment}, kLimit);
  CHECK(ends(std::stoi(apart.out)));
  const Answer left =
      run_command({{"sh", "-c", "sleep 600 & echo $!"}, environment}, 60);  // holds the pipe open
  CHECK_FALSE(left.late);
  kill(std::stoi(left.out), SIGKILL);
}

}  // namespace
}  // namespace culprit::stacks::testing
