/* Processes that come together later than in MPI_Init. Usage:
 *   worlds spawn COMMAND [ARGUMENT...]  starts two more processes with COMMAND, which is to run this program
 *                                       again, and works with them
 *   worlds connect                      ranks 0 and 1 meet at a port
 *   worlds join                         ranks 0 and 1 meet at a socket
 * Rank 0 of the first world prints what it got from the others. */
#include <arpa/inet.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LATE = 200 /* ms */, SPAWNED = 2 };
static int rank;

static __attribute__((noinline)) void be_late(void) {
  struct timespec left = {.tv_sec = 0, .tv_nsec = LATE * 1000000L};
  while (nanosleep(&left, &left) != 0) {
  }
}

/* Messages, collectives and a window over processes of both sides. The second side is late each time. */
static __attribute__((noinline)) void work_together(MPI_Comm both, int second) {
  MPI_Comm merged;
  MPI_Win window;
  int number = 0, sum = 0, here, *memory;
  if (second) {
    be_late();
    MPI_Comm_rank(both, &here);
    number = 7;
    if (here == 0) MPI_Send(&number, 1, MPI_INT, 0, 5, both);
  } else if (rank == 0) {
    MPI_Recv(&number, 1, MPI_INT, 0, 5, both, MPI_STATUS_IGNORE);
  }
  MPI_Intercomm_merge(both, second, &merged);
  if (second) be_late();
  MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, merged);
  MPI_Comm_rank(merged, &here);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, merged, &memory, &window);
  *memory = 0;
  MPI_Win_fence(0, window);
  if (second) be_late();
  MPI_Accumulate(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  if (here == 0) printf("received %d, sum %d, window %d\n", number, sum, *memory);
  MPI_Win_free(&window);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&both);
}

static void spawn(char** command) {
  MPI_Comm children;
  MPI_Comm_spawn(command[0], command + 1, SPAWNED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  work_together(children, 0);
}

static void meet_at_port(void) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm other;
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    MPI_Close_port(port);
  } else {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    be_late();
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
  }
  work_together(other, rank);
}

static void meet_at_socket(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int end = socket(AF_INET, SOCK_STREAM, 0);
  MPI_Comm other;
  if (rank == 0) {
    const int door = end;
    bind(door, (struct sockaddr*)&address, sizeof address);
    listen(door, 1);
    getsockname(door, (struct sockaddr*)&address, &size);
    MPI_Send(&address, sizeof address, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    end = accept(door, NULL, NULL);
    close(door);
  } else {
    MPI_Recv(&address, sizeof address, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    connect(end, (struct sockaddr*)&address, sizeof address);
    be_late();
  }
  MPI_Comm_join(end, &other);
  close(end);
  work_together(other, rank);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    work_together(parent, 1);
  } else if (argc > 2 && strcmp(argv[1], "spawn") == 0) {
    spawn(argv + 2);
  } else if (rank < 2 && strcmp(argv[1], "connect") == 0) {
    meet_at_port();
  } else if (rank < 2 && strcmp(argv[1], "join") == 0) {
    meet_at_socket();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
