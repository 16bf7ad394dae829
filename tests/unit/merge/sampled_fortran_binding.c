/* The Fortran binding of a call, in a library of its own. */
volatile int calls;
void mpi_allreduce_(void) {
  calls += 1;
  calls *= 3;
}
