// A small imbalanced stencil: heat conduction on a plate whose lower end reacts. Rows are divided evenly
// among the ranks, but only the rows of the reacting zone solve the chemistry, so the last ranks work longer
// and all others wait for them, in the halo exchange and in the residual's reduction. Usage: stencil [steps]
// [rows] [columns]. Comments on lines say what structure is to be found (tests/unit/structure); ALL LOOPS
// have one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

namespace {

struct Plate {
  int rows = 0, columns = 0;  // of this rank, without the two halo rows
  int first_row = 0, all_rows = 0;
  std::vector<double> now, next;

  double* row(int i) { return now.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(columns); }
  double* next_row(int i) {
    return next.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(columns);
  }
};

Plate deal_out(int all_rows, int columns, int rank, int ranks) {
  Plate plate;
  plate.all_rows = all_rows;
  plate.columns = columns;
  plate.first_row = static_cast<int>(static_cast<long>(all_rows) * rank / ranks);
  plate.rows = static_cast<int>(static_cast<long>(all_rows) * (rank + 1) / ranks) - plate.first_row;
  const auto cells = static_cast<std::size_t>(plate.rows + 2) * static_cast<std::size_t>(columns);
  plate.now.assign(cells, 300.0);
  plate.next.assign(cells, 300.0);
  return plate;
}

void exchange_halo(Plate& plate, int rank, int ranks) {
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  // SOME loop:steps in:advance in:exchange_halo
  MPI_Sendrecv(plate.row(1), plate.columns, MPI_DOUBLE, up, 0, plate.row(plate.rows + 1), plate.columns,
               MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(plate.row(plate.rows), plate.columns, MPI_DOUBLE, down, 1, plate.row(0), plate.columns,
               MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

[[gnu::noinline]] double conduct(Plate& plate) {
  double change = 0;
  for (int i = 1; i <= plate.rows; ++i) {  // LOOP rows
    const double *above = plate.row(i - 1), *here = plate.row(i), *below = plate.row(i + 1);
    double* out = plate.next_row(i);
    for (int j = 1; j + 1 < plate.columns; ++j) {  // LOOP columns
      out[j] = here[j] + 0.2 * (above[j] + below[j] + here[j - 1] + here[j + 1] - 4 * here[j]);
      change += std::fabs(out[j] - here[j]);  // SOME loop:rows loop:columns
    }
  }
  return change;
}

// The heat that the reaction frees in one cell: a fixed point, found by iteration.
[[gnu::noinline]] double reaction_heat(double temperature) {
  double progress = 0.5;
  for (int k = 0; k < 12; ++k) {  // LOOP fixed-point
    const double exponent = -(temperature + 40 * progress - 310) / 25;
    progress = 1.0 / (1.0 + std::exp(exponent));  // SOME loop:fixed-point?
  }
  return progress;
}

void react(Plate& plate) {
  const int reacting_from = plate.all_rows - plate.all_rows / 8;
  for (int i = 1; i <= plate.rows; ++i) {  // LOOP zone
    if (plate.first_row + i - 1 < reacting_from) continue;
    double* out = plate.next_row(i);
    for (int j = 1; j + 1 < plate.columns; ++j) {  // LOOP cells
      // SOME loop:steps in:advance in:react loop:zone loop:cells
      out[j] += 0.05 * reaction_heat(out[j]);
    }
  }
}

double advance(Plate& plate, int rank, int ranks) {
  exchange_halo(plate, rank, ranks);
  double change = conduct(plate);
  react(plate);
  std::swap(plate.now, plate.next);
  double total = 0;
  // SOME loop:steps in:advance
  MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? std::atoi(argv[1]) : 400;
  const int rows = argc > 2 ? std::atoi(argv[2]) : 1024;
  const int columns = argc > 3 ? std::atoi(argv[3]) : 1024;

  Plate plate = deal_out(rows, columns, rank, ranks);
  if (rank == 0)
    for (int j = 0; j < columns; ++j) plate.row(1)[j] = 900.0;  // LOOP heated
  const double begin = MPI_Wtime();
  double change = 0;
  for (int step = 0; step < steps; ++step) {  // LOOP steps
    change = advance(plate, rank, ranks);
  }
  if (rank == 0) std::printf("%d steps, change %.6g, %.2f s\n", steps, change, MPI_Wtime() - begin);
  MPI_Finalize();
  return 0;
}
