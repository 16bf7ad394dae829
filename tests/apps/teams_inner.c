/* A library that is called within a region of another (teams_outer.c), and has OpenMP from where that has it.
 */
static long calls;

void teams_inner(void) {
#pragma omp critical
  ++calls;
#pragma omp barrier
}
