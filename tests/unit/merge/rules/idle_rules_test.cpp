#include "merge/rules/idle_rules.hpp"

#include "damaged_file.hpp"
#include "merge/rules/mpi_names.hpp"

#include <catch2/catch.hpp>

namespace idle_rules_test {

using culprit::measurement::WaitKind;
using culprit::merge::Frontier;
using culprit::merge::IdleRules;
using culprit::merge::matches;
using culprit::merge::mpi_name;
using culprit::merge::RulesError;

TEST_CASE("every binding of an MPI call has the C name") {
  for (const char* binding :
       {"MPI_Allreduce", "PMPI_Allreduce", "mpi_allreduce", "mpi_allreduce_", "mpi_allreduce__",
        "MPI_ALLREDUCE", "PMPI_ALLREDUCE", "pmpi_allreduce_", "mpi_allreduce_f08_", "MPI_Allreduce_f08",
        "MPI_Allreduce_f", "mpi_allreduce_f08ts_", "pmpir_allreduce_f08ts_", "ompi_allreduce_f",
        "PMPI_Allreduce_c", "PMPI_Allreduce@plt", "mpi_allreduce_@plt"}) {
    CHECK(mpi_name(binding) == "MPI_Allreduce");
  }
  CHECK(mpi_name("mpi_comm_rank_") == "MPI_Comm_rank");
  for (const char* other : {"main", "MPI", "MPI_", "mpi_", "ompi_request_default_wait_all", "MPIR_Allreduce",
                            "mpirun", "memcpy", "", "P", "xMPI_Send"}) {
    CHECK(mpi_name(other).empty());
  }
}

TEST_CASE("calls of the C library that read and write are known by all its names") {
  const IdleRules rules = IdleRules::built_in();
  for (const char* name : {"read", "__read", "__GI___libc_read", "__libc_pwrite64", "__open64_nocancel",
                           "fsync", "_IO_fread", "_IO_new_fopen", "__GI___fxstat64", "close"}) {
    CHECK(rules.procedure(name).libc_io);
    CHECK_FALSE(rules.procedure(name).io);
  }
  for (const char* name : {"MPI_File_write_all", "PMPI_File_open", "mpi_file_read_at_"})
    CHECK(rules.procedure(name).io);
  for (const char* name : {"printf", "memcpy", "MPI_Wait", "reader", "lseek"}) {
    CHECK_FALSE(rules.procedure(name).libc_io);
    CHECK_FALSE(rules.procedure(name).io);
  }
}

TEST_CASE("users add calls of the C library by patterns, and take them out by one name") {
  IdleRules rules = IdleRules::built_in();
  rules.add("libc-io aio_*\nignore read\nignore fopen*\n", "mine");
  CHECK(rules.procedure("aio_suspend").libc_io);
  CHECK(rules.procedure("__GI_aio_error").libc_io);
  for (const char* name : {"read", "__libc_read", "__GI___libc_read", "_IO_new_fopen", "fopen64"})
    CHECK(rules.procedure(name) == culprit::merge::NameRule{});
  CHECK(rules.procedure("__libc_write").libc_io);
}

TEST_CASE("what waits by a user's rule, and is no call of MPI, waits though MPI's calls are marked") {
  IdleRules rules = IdleRules::built_in();
  rules.add("wait mpi my_spin\n", "mine");
  CHECK(rules.procedure("my_spin").unmarked);
  CHECK_FALSE(rules.procedure("MPI_Recv").unmarked);
  CHECK_FALSE(rules.procedure("pthread_cond_wait").unmarked);
}

TEST_CASE("names in added rules that match nothing are listed") {
  IdleRules rules = IdleRules::built_in();
  const std::vector<std::string> names = {
      "", "main", "__libc_read", "mpi_recv_", "ns::my_spin(int)", "/usr/lib/libfabric.so.1"};
  CHECK(rules.vain(names).empty());
  rules.add("wait condition my_spin\nignore read\nwork ns::my_spin*\nwait mpi MPI_Recv\n", "mine");
  rules.add("library mpi libfabric.so*\nlibrary mpi libpsm2.so*\n", "mine");
  const std::vector<std::string> vain = rules.vain(names);
  REQUIRE(vain.size() == 2);
  CHECK(vain[0] ==
        "mine:1: my_spin: no procedure of that name was sampled (viewer-cli DB view flat lists all)");
  CHECK(vain[1].starts_with("mine:2: libpsm2.so*: no load module"));
}

TEST_CASE("patterns with stars") {
  CHECK(matches("a*c", "abbc"));
  CHECK(matches("a*c", "ac"));
  CHECK(matches("*", ""));
  CHECK(matches("*b*b*", "abcbd"));
  CHECK(matches("libgomp.so*", "libgomp.so.1"));
  CHECK_FALSE(matches("a*c", "abbcd"));
  CHECK_FALSE(matches("abc", "ab"));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("*x", "abc"));
}

TEST_CASE("the built-in rules know what waits") {
  const IdleRules rules = IdleRules::built_in();
  CHECK(rules.procedure("PMPI_Recv").frontier == Frontier::wait);
  CHECK(rules.procedure("PMPI_Recv").kind == WaitKind::mpi);
  CHECK(rules.procedure("mpi_win_fence_").frontier == Frontier::wait);
  CHECK(rules.procedure("MPI_Isend").frontier == Frontier::communication);
  CHECK(rules.procedure("mpi_put_").frontier == Frontier::may_wait);
  CHECK(rules.procedure("MPI_Init_thread").frontier == Frontier::setup);
  CHECK(rules.procedure("GOMP_barrier").kind == WaitKind::omp_barrier);
  CHECK(rules.procedure("pthread_mutex_lock").frontier == Frontier::wait_below);
  CHECK(rules.procedure("pthread_cond_wait").kind == WaitKind::condition);
  CHECK(rules.procedure("opal_progress").progress);
  CHECK(rules.procedure("memcpy").moves);
  CHECK(rules.procedure("my_solver") == culprit::merge::NameRule{});
  CHECK(rules.procedure("mpi_init_my_tables_") == culprit::merge::NameRule{});
  CHECK(rules.mpi_call("mpi_allreduce_") == "MPI_Allreduce");
  CHECK(rules.mpi_call("mpi_init_my_tables_").empty());
  CHECK(rules.library("/usr/lib/libgomp.so.1", true) == WaitKind::omp_barrier);
  CHECK(rules.library("/usr/lib/libgomp.so.1", false) == WaitKind::omp_idle);
  CHECK(rules.library("/usr/lib/libc.so.6", true) == WaitKind::none);
}

TEST_CASE("users' rules come on top") {
  IdleRules rules = IdleRules::built_in();
  rules.add(
      "# mine\nwait lock  take_lock_* # the old ones\n  take_it\nignore MPI_Recv\nlibrary omp-idle "
      "libtask.so*\n",
      "mine");
  CHECK(rules.procedure("take_lock_2").kind == WaitKind::lock);
  CHECK(rules.procedure("take_it").frontier == Frontier::wait);
  CHECK(rules.procedure("PMPI_Recv").frontier == Frontier::none);
  CHECK(rules.procedure("PMPI_Send").frontier == Frontier::wait);
  CHECK(rules.library("libtask.so.2", true) == WaitKind::omp_idle);
}

TEST_CASE("a wrong rules file is refused with its line") {
  const auto error = [](const char* text) {
    IdleRules rules;
    try {
      rules.add(text, "my.rules");
    } catch (const RulesError& caught) {
      return std::string(caught.what());
    }
    return std::string();
  };
  CHECK(error("wait mpi MPI_X\nbusy foo\n").starts_with("my.rules:2: unknown rule 'busy'"));
  CHECK(error("\nwait sleep foo\n").starts_with("my.rules:2: unknown kind 'sleep'"));
  CHECK(error("wait omp foo\n").starts_with("my.rules:1: unknown kind 'omp'"));
  CHECK(error("wait").starts_with("my.rules:1: unknown kind ''"));
  CHECK(error("moves\n").starts_with("my.rules:1: names nothing"));
  CHECK(error("  foo\n").starts_with("my.rules:1: continues no rule"));
  CHECK(error("").empty());
  IdleRules rules;
  CHECK_THROWS_AS(rules.add_file("/no/such/file"), RulesError);
}

TEST_CASE("rules that are cut or flipped anywhere are other rules, or a wrong file") {
  const std::string good =
      "wait mpi MPI_X*\n  MPI_Y # two\nmoves copy\nlibrary omp libtask.so*\nignore main\n";
  int refused = 0;
  const auto read = [&refused](const std::string& text) {
    IdleRules rules;
    try {
      rules.add(text, "my.rules");
      (void)rules.procedure("MPI_X1");
      (void)rules.library("libtask.so.1", true);
    } catch (const RulesError& error) {
      ++refused;
      CHECK(std::string_view(error.what()).starts_with("my.rules:"));
    }
  };
  damage::cut_and_flip_each(good, read);
  CHECK(refused > 0);
}

}  // namespace idle_rules_test
