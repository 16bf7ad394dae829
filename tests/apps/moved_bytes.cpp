// Reads and writes known amounts in each way that is counted, each in a function of its own, on each rank in
// files of its own; then all ranks write one file by MPI. Usage: moved_bytes DIRECTORY
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr int kTimes = 600;
std::string here;
char buffer[1 << 20];

void require(bool good) {
  if (!good) abort();
}

int opened(const char* name) {
  const int file = open((here + name).c_str(), O_CREAT | O_RDWR, 0600);
  require(file >= 0);
  return file;
}

[[gnu::noinline]] void by_write() {
  const int file = opened(".write");
  for (int i = 0; i < kTimes; ++i) require(write(file, buffer, 1000) == 1000);
  close(file);
}

[[gnu::noinline]] void by_pread() {
  const int file = opened(".write");
  for (int i = 0; i < kTimes; ++i) require(pread(file, buffer, 500, i * 500) == 500);
  close(file);
}

[[gnu::noinline]] void by_read_in_large_pieces() {
  const int file = opened(".write");
  require(read(file, buffer, sizeof buffer) == 1000 * kTimes);
  require(read(file, buffer, sizeof buffer) == 0);  // its end
  require(read(-1, buffer, sizeof buffer) == -1);
  close(file);
}

[[gnu::noinline]] void by_writev() {
  const int file = opened(".writev");
  const iovec pieces[2] = {{buffer, 10}, {buffer, 20}};
  for (int i = 0; i < kTimes; ++i) require(writev(file, pieces, 2) == 30);
  close(file);
}

[[gnu::noinline]] void by_fwrite() {
  FILE* const file = fopen((here + ".fwrite").c_str(), "w");
  for (int i = 0; i < kTimes; ++i) require(fwrite(buffer, 8, 3, file) == 3);
  fclose(file);
}

[[gnu::noinline]] void by_fread() {
  FILE* const file = fopen((here + ".fwrite").c_str(), "r");
  for (int i = 0; i < kTimes; ++i) require(fread(buffer, 8, 3, file) == 3);
  require(fread(buffer, 8, 3, file) == 0);
  fclose(file);
}

[[gnu::noinline]] void by_stream() {
  std::ofstream file(here + ".stream");
  for (int i = 0; i < kTimes; ++i) file.write(buffer, 4096);
}

[[gnu::noinline]] void by_mpi(const std::string& name, int rank) {
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
  for (int i = 0; i < 10; ++i)
    MPI_File_write_at_all(file, (10 * rank + i) * 65536, buffer, 65536, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  here = std::string(argv[1]) + "/rank-" + std::to_string(rank);
  by_write();
  by_pread();
  by_read_in_large_pieces();
  by_writev();
  by_fwrite();
  by_fread();
  by_stream();
  by_mpi(std::string(argv[1]) + "/shared", rank);
  const double end = MPI_Wtime() + 0.3;  // for some samples
  while (MPI_Wtime() < end) {
  }
  MPI_Finalize();
  return 0;
}
