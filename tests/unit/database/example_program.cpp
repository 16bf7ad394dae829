#include "example.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

constexpr std::uint32_t kRanks = 8, kWorkers = 4;
constexpr std::uint32_t kMain = 0, kWorker = 1;

/// A fixed pseudo-random number in [−1, 1) that belongs to a rank and a place.
double jitter(std::int32_t rank, std::uint32_t place) {
  std::uint64_t x =
      (static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15U + place * 0xbf58476d1ce4e5b9U;
  x ^= x >> 31;
  x *= 0x94d049bb133111ebU;
  x ^= x >> 29;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

}  // namespace

SpentBy Workload::work(std::uint32_t role, double seconds, const ByRank& factor, const ByRank& on_cpu) {
  const std::uint32_t place = ++place_;
  return [=, this](std::uint32_t l) {
    const Location& at = locations_[l];
    if (at.role != role) return Spent{};
    const double jittered = seconds * (1 + 0.005 * jitter(at.rank, place)) * (factor ? factor(at.rank) : 1);
    Spent spent = take(l, jittered);
    if (on_cpu) spent.on_cpu = on_cpu(at.rank);
    return spent;
  };
}

SpentBy Workload::rest(std::uint32_t role, double seconds, double share) {
  return [=, this](std::uint32_t l) {
    if (locations_[l].role != role) return Spent{};
    return take(l, std::max(0.0, seconds - static_cast<double>(spent_[l]) * kExamplePeriod * 1e-9) * share);
  };
}

Spent Workload::take(std::uint32_t l, double seconds) {
  const Spent spent{static_cast<std::uint64_t>(seconds * 1e9 / kExamplePeriod + 0.5), 1};
  spent_[l] += spent.samples;
  return spent;
}

namespace {

double slow_ranks(std::int32_t rank) {
  return rank == 3 || rank == 7 ? 1.41 : 1;
}

double preempted(std::int32_t rank) {
  return rank == 5 ? 0.55 : 1;
}
double reading(std::int32_t) {
  return 0.1;
}

const char* const kSolver = "/home/user/solver/src/solver.cpp";
const char* const kSpmv = "/home/user/solver/src/spmv.cpp";
const char* const kVector = "/home/user/solver/src/vector.hpp";
const char* const kMpi = "/usr/lib/x86_64-linux-gnu/libmpi.so.40";
const char* const kMainFile = "/home/user/solver/src/main.cpp";

void add_spmv(ExampleTree& tree, Workload& load) {
  tree.call(413, "cg::spmv(Matrix const&, Vector const&, Vector&)", kSpmv, 80);
  tree.open(ContextKind::loop, "", kSpmv, 88);
  tree.statement(kSpmv, 90, load.work(kMain, 6.0, slow_ranks));
  tree.open(ContextKind::inlined, "cg::row_product(Row const&, Vector const&)",
            "/home/user/solver/src/row.hpp", 20);
  tree.statement("/home/user/solver/src/row.hpp", 24, load.work(kMain, 4.0, slow_ranks));
  tree.close();
  tree.close();
  tree.close_call();
}

void add_halo(ExampleTree& tree, Workload& load) {
  tree.call(420, "cg::halo_exchange(Vector&)", kSolver, 300);
  tree.statement(kSolver, 310, load.work(kMain, 0.2));
  tree.wait(318, "MPI_Waitall", kMpi, 1);
  tree.statement("", 0, load.work(kMain, 0.1));
  tree.call(0, "memcpy", "", 0, "/usr/lib/x86_64-linux-gnu/libc.so.6");
  tree.statement("", 0, load.work(kMain, 0.15), true);
  tree.close_call();
  tree.close_call();
  tree.close_call();
}

void add_dot(ExampleTree& tree, Workload& load) {
  tree.call(425, "cg::dot(Vector const&, Vector const&)", kVector, 28);
  tree.open(ContextKind::loop, "", kVector, 31);
  tree.statement(kVector, 32, load.work(kMain, 1.5));
  tree.close();
  tree.wait(35, "MPI_Allreduce", kMpi, 1);
  tree.statement("", 0, load.rest(kMain, 20.3, 0.1));
  tree.call(0, "opal_progress", "", 0, "/usr/lib/x86_64-linux-gnu/libopen-pal.so.40");
  tree.statement("", 0, load.rest(kMain, 20.3, 1));
  tree.close_call();
  tree.close_call();
  tree.close_call();
}

void add_solver(ExampleTree& tree, Workload& load) {
  tree.call(142, "cg::iterate(Problem&)", kSolver, 400);
  tree.open(ContextKind::loop, "", kSolver, 412);
  add_spmv(tree, load);
  tree.open(ContextKind::inlined, "cg::axpy(double, Vector const&, Vector&)", kVector, 10);
  tree.open(ContextKind::loop, "", kVector, 12);
  tree.statement(kVector, 13, load.work(kMain, 1.0, {}, preempted));
  tree.close();
  tree.close();
  add_halo(tree, load);
  add_dot(tree, load);
  tree.close();
  tree.close_call();
}

/// Recursion: refine calls itself, and visit, which calls refine.
void add_refinement(ExampleTree& tree, Workload& load, int depth) {
  tree.call(depth == 0 ? 150 : 74, "amr::refine(Node&)", "/home/user/solver/src/refine.cpp", 60);
  tree.statement("/home/user/solver/src/refine.cpp", 66, load.work(kMain, 0.4));
  if (depth < 2) {
    tree.call(70, "amr::visit(Node&)", "/home/user/solver/src/refine.cpp", 40);
    tree.statement("/home/user/solver/src/refine.cpp", 44, load.work(kMain, 0.1));
    add_refinement(tree, load, depth + 1);
    tree.close_call();
    add_refinement(tree, load, depth + 2);
  }
  tree.close_call();
}

void add_main(ExampleTree& tree, Workload& load) {
  tree.open(ContextKind::root, "<program root>");
  tree.call(0, "main", kMainFile, 120, "/home/user/solver/build/solver");
  tree.call(125, "MPI_Init", "", 0, kMpi);
  tree.statement("", 0, load.work(kMain, 0.3));
  tree.close_call();
  tree.call(131, "read_input(char const*)", "/home/user/solver/src/io.cpp", 30);
  tree.statement("/home/user/solver/src/io.cpp", 44, load.work(kMain, 0.6, {}, reading));
  tree.close_call();
  tree.open(ContextKind::loop, "", kMainFile, 140);
  add_refinement(tree, load, 0);
  tree.statement(kMainFile, 141, load.work(kMain, 0.1));
  add_solver(tree, load);
  tree.close();
  tree.wait(160, "MPI_Finalize", kMpi, 1);
  tree.statement("", 0, load.rest(kMain, 20.32, 1));
  tree.close_call();
  tree.close_call();
  tree.close();
}

void add_workers(ExampleTree& tree, Workload& load) {
  tree.open(ContextKind::thread_root, "<thread root>");
  tree.call(0, "gomp_thread_start", "", 0, "/usr/lib/x86_64-linux-gnu/libgomp.so.1");
  tree.call(0, "cg::iterate(Problem&) [OpenMP region]", kSolver, 416, "/home/user/solver/build/solver");
  tree.statement(kSolver, 417,
                 load.work(kWorker, 3.0, [](std::int32_t rank) { return rank == 2 ? 1.5 : 1; }));
  tree.close_call();
  tree.wait(0, "gomp_team_barrier_wait_end", "/usr/lib/x86_64-linux-gnu/libgomp.so.1", 2);
  tree.statement("", 0, load.rest(kWorker, 4.6, 1));
  tree.close_call();
  tree.close_call();
  tree.close();
  tree.open(ContextKind::partial, "<partial>");
  tree.call(0, "<libblob.so@0x1a40>", "", 0, "/opt/vendor/libblob.so");
  tree.statement("", 0, load.work(kMain, 0.02));
  tree.close_call();
  tree.close();
}

}  // namespace

std::vector<Location> example_locations() {
  std::vector<Location> locations;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    Location main{.rank = static_cast<std::int32_t>(rank),
                  .thread = 0,
                  .role = kMain,
                  .pid = 4000 + rank,
                  .host = rank < 4 ? "node1" : "node2",
                  .start_ns = 1'000'000'000U + rank * 1'000'000U,
                  .end_ns = 24'000'000'000U + rank * 1'000'000U,
                  .cut_short = false};
    locations.push_back(main);
    if (rank >= kWorkers) continue;
    main.thread = 1;
    main.role = kWorker;
    locations.push_back(main);
  }
  return locations;
}

void describe_example(ExampleTree& tree, Workload& load) {
  add_main(tree, load);
  add_workers(tree, load);
}

}  // namespace culprit::database
