/* A load module whose procedures the tests "sample": real symbols and line tables, never run. Each procedure is
   long enough to hold a call site and a sample point. */
#define PROCEDURE(name)            \
  volatile int name##_state;       \
  void name(void) {                \
    for (int i = 0; i < 100; ++i)  \
      name##_state += i;           \
    name##_state *= 3;             \
  }

PROCEDURE(app_main)
PROCEDURE(app_step)
PROCEDURE(app_work)
PROCEDURE(app_more_work)
PROCEDURE(app_reduction)
PROCEDURE(worker_start)
PROCEDURE(MPI_Allreduce)
PROCEDURE(MPI_File_write)
PROCEDURE(MPI_Init)
PROCEDURE(MPI_Isend)
PROCEDURE(ompi_op_reduce)
PROCEDURE(opal_progress)
