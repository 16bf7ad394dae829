/* Steers its sampler by MPI_Pcontrol: work_outside() runs only while sampling is stopped, work_inside() only
   while it goes on. A thread that is older than MPI_Init works all the time. To be measured with --delay.
   Built with -DTOOL it is a tool's library instead: it prints what MPI_Pcontrol was given. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

#ifdef TOOL

static int show(const char* name, int level, va_list list) {
  if (level == 7) {
    const int number = va_arg(list, int);
    const double fraction = va_arg(list, double);
    const char* text = va_arg(list, const char*);
    double last = 0;
    for (int i = 0; i < 12; ++i) last = va_arg(list, double); /* more than registers hold */
    printf("%s 7 %d %.1f %s %.1f\n", name, number, fraction, text, last);
  } else {
    printf("%s %d\n", name, level);
  }
  fflush(stdout);
  return MPI_SUCCESS;
}

int MPI_Pcontrol(const int level, ...) {
  va_list list;
  va_start(list, level);
  const int result = show("MPI_Pcontrol", level, list);
  va_end(list);
  return result;
}

int PMPI_Pcontrol(const int level, ...) {
  va_list list;
  va_start(list, level);
  const int result = show("PMPI_Pcontrol", level, list);
  va_end(list);
  return result;
}

#else

#include <pthread.h>

static volatile unsigned long sink;
static volatile int over;

static void spin(int ms) {
  const double end = MPI_Wtime() + ms * 1e-3;
  while (MPI_Wtime() < end) {
    for (int i = 0; i < 1000; ++i) sink = sink + (unsigned long)i;
  }
}
__attribute__((noipa)) static void work_inside(int ms) {
  spin(ms);
}
__attribute__((noipa)) static void work_outside(int ms) {
  spin(ms);
}

static void* old_thread(void* unused) {
  while (!over) {
    for (int i = 0; i < 1000; ++i) sink = sink + (unsigned long)i;
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  pthread_create(&thread, NULL, old_thread, NULL);
  MPI_Init(&argc, &argv);
  work_outside(40);
  MPI_Pcontrol(1);
  work_inside(60);
  MPI_Pcontrol(0);
  work_outside(40);
  PMPI_Pcontrol(2);
  work_inside(60);
  MPI_Pcontrol(7, 42, 2.5, "text", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.);
  work_inside(60);
  PMPI_Pcontrol(0, "further");
  work_outside(40);
  over = 1;
  pthread_join(thread, NULL);
  MPI_Finalize();
  return 0;
}

#endif
