/* Preloaded: MPICH 4.0 ends over UCX's TCP. Its MPI_Finalize disconnects, which the other side has to answer,
   and then waits in a barrier of the launcher's, in which it answers nobody: who comes to the barrier first
   leaves the others waiting for ever (mended in MPICH 4.2, pmodels/mpich#6596). This one answers while it
   waits for the launcher. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/types.h>

static void* worker; /* that of UCX, while there is one */

unsigned ucp_worker_progress(void* of) {
  static unsigned (*real)(void*);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "ucp_worker_progress");
  worker = of;
  return real(of);
}

void ucp_worker_destroy(void* of) {
  static void (*real)(void*);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "ucp_worker_destroy");
  worker = NULL;
  real(of);
}

ssize_t read(int descriptor, void* to, size_t size) {
  static ssize_t (*real)(int, void*, size_t);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "read");
  const char* launcher = getenv("PMI_FD");
  if (worker && launcher && atoi(launcher) == descriptor) {
    struct pollfd said = {.fd = descriptor, .events = POLLIN};
    while (worker && poll(&said, 1, 1) == 0) ucp_worker_progress(worker);
  }
  return real(descriptor, to, size);
}
