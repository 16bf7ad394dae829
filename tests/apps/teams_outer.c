/* A plug-in whose constructor runs a region, in which another library and tasks call OpenMP for the first
 * time: the loader holds its lock meanwhile (test_teams.py). */
void teams_inner(void);
long teams_once(void);

static long shared;

static __attribute__((constructor)) void begin(void) {
#pragma omp parallel num_threads(4)
  {
    teams_inner();
#pragma omp single
    for (int i = 0; i < 20; ++i) {
#pragma omp task
      {
#pragma omp critical
        shared += i;
      }
    }
    const long once = teams_once();
#pragma omp atomic
    shared += once;
    teams_inner();
  }
}

void plugin_region(void) {
#pragma omp parallel num_threads(3)
  teams_inner();
}

long plugin_sum(int threads) {
  long sum = shared;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  sum += teams_once();
  return sum;
}
