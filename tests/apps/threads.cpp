// A threaded MPI program: on every rank, OpenMP threads share a loop unevenly, and a std::thread prefetches
// beside them. Usage: threads [iterations]. Comments on lines say what structure is to be found
// (tests/unit/structure); ALL LOOPS have one.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <mpi.h>
#include <omp.h>

namespace {

[[gnu::noinline]] double uneven_work(int item, int items) {
  double sum = 0;
  const int effort = 2000 + (item > items * 3 / 4 ? 20000 : 0);
  for (int i = 1; i < effort; ++i) {   // LOOP effort
    sum += std::sin(i * 1e-3 + item);  // SOME loop:effort
  }
  return sum;
}

[[gnu::noinline]] double share_out(int items) {
  double sum = 0;
  // LOOP reduction // (of the compiler's own; the loop itself gets the line of its body)
#pragma omp parallel for schedule(static) reduction(+ : sum)
  // SOME loop:items // PROC share_out(int) [OpenMP region 0] // LOOP items
  for (int item = 0; item < items; ++item) sum += uneven_work(item, items);
  return sum;
}

[[gnu::noinline]] double prefetch(const std::atomic<bool>& stop) {
  double sum = 0;
  while (!stop.load(std::memory_order_relaxed)) {  // LOOP fetches
    for (int i = 0; i < 10000; ++i) {              // LOOP batch
      sum += std::cos(i * 1e-3);                   // SOME loop:fetches loop:batch
    }
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 200;
  std::atomic<bool> stop{false};
  double fetched = 0;
  std::thread beside([&] { fetched = prefetch(stop); });
  double total = 0;
  for (int i = 0; i < iterations; ++i) {  // LOOP iterations
    const double mine = share_out(200);   // SOME loop:iterations // PROC main
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    total += all;
  }
  stop = true;
  beside.join();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%.6f %d\n", total, std::isfinite(fetched) ? 1 : 0);
  MPI_Finalize();
}
