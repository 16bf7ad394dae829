/* Closes a plug-in as soon as its last call has done what it is for, while the thread that made the call has
 * not come back yet: that goes back to this program, and needs the plug-in no more (teams_tail.c,
 * test_teams.py). Usage: teams_closer PLUGIN ROUNDS */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static omp_lock_t lock;
static int met, passed;

static void* function(void* plugin, const char* name) {
  void* found = dlsym(plugin, name);
  if (found == NULL) exit(3);
  return found;
}

/* All meet in the plug-in; who comes first closes it, while others are still on their way back. */
static void meet_and_close(void* plugin) {
  void (*meet)(void) = (void (*)(void))function(plugin, "tail_meet");
  int first = 0;
#pragma omp parallel num_threads(4)
  {
    meet();
    if (__atomic_fetch_add(&first, 1, __ATOMIC_RELAXED) == 0) dlclose(plugin);
#pragma omp atomic
    ++met;
  }
}

/* One gives the lock back in the plug-in; who waits for it closes that. */
static void unlock_and_close(void* plugin) {
  void (*leave)(void) = (void (*)(void))function(plugin, "tail_leave");
  void (*unlock)(omp_lock_t*) = (void (*)(omp_lock_t*))function(plugin, "tail_unlock");
  void (*wait)(void) = (void (*)(void))function(plugin, "tail_wait_for_tasks");
  int held = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      leave();
      wait();
      omp_set_lock(&lock);
      __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
      usleep(100);
      unlock(&lock);
    } else {
      while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE)) usleep(10);
      omp_set_lock(&lock);
      dlclose(plugin);
      omp_unset_lock(&lock);
    }
#pragma omp atomic
    ++passed;
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  omp_init_lock(&lock);
  for (int round = 0; round < atoi(argv[2]); ++round) {
    void* plugin = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    if (plugin == NULL) return 4;
    if (round % 2 == 0) {
      meet_and_close(plugin);
    } else {
      unlock_and_close(plugin);
    }
  }
  printf("%d met, %d passed\n", met, passed);
  return 0;
}
