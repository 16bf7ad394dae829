/* A library that is called within a region of another (teams_outer.c, teams_other.c), with OpenMP from where
 * the loader finds it: mostly where that has it. */
static long calls, turn;

void teams_inner(void) {
#pragma omp critical
  ++calls;
#pragma omp barrier
}

/* The same number for all threads of the team, if this library has the OpenMP that the team is of. */
long teams_once(void) {
  long mine;
#pragma omp single copyprivate(mine)
  mine = ++turn;
  return mine;
}
