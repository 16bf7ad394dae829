/* Truth: the waits of one-sided communication with active targets: fences, and epochs of post, start,
 * complete and wait; and of making and freeing windows. In epochs ranks pair up (0,1), (2,3), ...: the lower
 * one is the origin, the higher one the target; in `many_origins` rank 0 is everyone's target. */
#include "truth_program.h"

enum { BULK = 1 << 16 };     /* words of a transfer that no library sends ahead */
enum { WINDOW = 1, OTHERS }; /* the log's numbers of the window, and of those of each kind */
static MPI_Win window;
static int number = WINDOW;
static int* memory;
static MPI_Group everyone, pair; /* pair: the partner alone */
static int partner, origin, alone, turn;

static void put_at(int target, MPI_Aint place) {
  const int word = rank;
  CALL(MPI_Put, &word, 1, MPI_INT, target, place, 1, MPI_INT, window);
  truth_rma(number, target, sizeof word);
}
static void put(int target) {
  put_at(target, rank);
}
static void put_bulk(int target) {
  static int words[BULK];
  CALL(MPI_Put, words, BULK, MPI_INT, target, ranks, BULK, MPI_INT, window);
  truth_rma(number, target, sizeof words);
}

static void fence_with(int assertion) {
  CALL(MPI_Win_fence, assertion, window);
  truth_fence(number);
}
static void fence(void) {
  fence_with(0);
}

/* An open fence epoch must end before epochs of another kind begin. */
static void end_fences(void) {
  fence_with(MPI_MODE_NOSUCCEED);
}

static void post(void) {
  CALL(MPI_Win_post, pair, 0, window);
  truth_post(WINDOW, partner);
}
static void start(void) {
  CALL(MPI_Win_start, pair, 0, window);
  truth_start(WINDOW, partner);
}
static void complete(void) {
  CALL(MPI_Win_complete, window);
  truth_complete(WINDOW);
}
static void wait_for_origins(void) {
  CALL(MPI_Win_wait, window);
  truth_wait(WINDOW);
}

/* One rank comes late to the closing fence. */
SCENARIO wait_at_fence(void) {
  fence();
  put((rank + 1) % ranks);
  if (rank == ++turn % ranks) truth_sleep(delay);
  fence();
}

/* One rank's operation ends late, and it comes even later to the fence: its target, early, waits for both. */
SCENARIO early_fence(void) {
  fence();
  if (rank == ++turn % ranks) {
    truth_sleep(delay);
    put((rank + 1) % ranks);
    truth_sleep(delay / 2);
  }
  fence();
}

/* Fences that say what they need not do: the first one closes nothing, the last one opens nothing. */
SCENARIO fence_assertions(void) {
  fence_with(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE);
  put((rank + 1) % ranks);
  if (rank == ++turn % ranks) truth_sleep(delay);
  fence_with(MPI_MODE_NOSTORE);
  put((rank + 1) % ranks);
  if (rank == ++turn % ranks) truth_sleep(delay);
  fence_with(MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE);
}

/* The target opens late: its origin waits in start, complete or, where neither blocks, in its operation. */
SCENARIO late_post(void) {
  if (alone) return;
  if (origin) {
    start();
    put(partner);
    complete();
  } else {
    truth_sleep(delay);
    post();
    wait_for_origins();
  }
}

/* The same with an operation that a library may be unable to put off: it may wait for the target itself. */
SCENARIO early_transfer(void) {
  if (alone) return;
  if (origin) {
    start();
    put_bulk(partner);
    complete();
  } else {
    truth_sleep(delay);
    post();
    wait_for_origins();
  }
}

/* The origin's operation is late: its target waits, but not because of a late completion. */
SCENARIO early_wait(void) {
  if (alone) return;
  if (origin) {
    start();
    truth_sleep(delay);
    put(partner);
    complete();
  } else {
    post();
    wait_for_origins();
  }
}

/* The origin's operation is early, but it completes late. */
SCENARIO late_complete(void) {
  if (alone) return;
  if (origin) {
    start();
    put(partner);
    truth_sleep(delay);
    complete();
  } else {
    post();
    truth_sleep(delay / 4);
    wait_for_origins();
  }
}

SCENARIO test_loop(void) {
  if (alone) return;
  if (origin) {
    start();
    put(partner);
    truth_sleep(delay);
    complete();
  } else {
    post();
    int done = 0, calls = 1;
    truth_enter("MPI_Win_test", __func__);
    MPI_Win_test(window, &done);
    const long long first = truth_now();
    for (; !done; ++calls) MPI_Win_test(window, &done);
    truth_exit();
    truth_wait(WINDOW);
    truth_polls(calls, first);
  }
}

/* All other ranks access rank 0, the last one late. */
SCENARIO many_origins(void) {
  MPI_Group group;
  if (rank == 0) {
    MPI_Group_excl(everyone, 1, &rank, &group);
    CALL(MPI_Win_post, group, 0, window);
    for (int r = 1; r < ranks; ++r) truth_post(WINDOW, r);
    wait_for_origins();
  } else {
    const int target = 0;
    MPI_Group_incl(everyone, 1, &target, &group);
    if (rank == ranks - 1) truth_sleep(delay);
    CALL(MPI_Win_start, group, 0, window);
    truth_start(WINDOW, target);
    put(target);
    complete();
  }
  MPI_Group_free(&group);
}

/* A fence and an epoch, each with its own waits. */
SCENARIO mixed(void) {
  if (!origin) truth_sleep(delay / 2);
  wait_at_fence();
  end_fences();
  late_post();
  late_complete();
}

/* One rank comes late to the making of each kind of window, and to its end. */
static void make_late(void) {
  align();
  if (rank == ++turn % ranks) truth_sleep(delay);
}
static void note(int kind) {
  truth_collective(kind, WORLD, 0, 0);
}

static MPI_Win other = MPI_WIN_NULL;

/* Some of Open MPI's components cannot make every kind of window, on no rank then. */
static void free_made(MPI_Win* made) {
  if (*made == MPI_WIN_NULL) return;
  make_late();
  CALL(MPI_Win_free, made);
  note(TRUTH_FREE);
}

SCENARIO create_and_free(void) {
  int* base;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  make_late();
  CALL(MPI_Win_create, memory, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  note(TRUTH_CREATE);
  free_made(&other);
  make_late();
  CALL(MPI_Win_allocate, sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other);
  note(TRUTH_CREATE);
  free_made(&other);
  make_late();
  CALL(MPI_Win_allocate_shared, sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other);
  note(TRUTH_CREATE);
  free_made(&other);
  make_late();
  CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  note(TRUTH_CREATE);
  free_made(&other);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* One rank comes late to a fence of a window of each kind. */
static void use(int kind, MPI_Aint place) {
  MPI_Win usual = window;
  if (other == MPI_WIN_NULL) return;
  window = other;
  number = OTHERS + kind;
  fence();
  put_at((rank + 1) % ranks, place);
  if (rank == ++turn % ranks) truth_sleep(delay);
  end_fences();
  window = usual;
  number = WINDOW;
  free_made(&other);
}

static MPI_Aint neighbours_memory(void) {
  MPI_Aint mine, there;
  MPI_Win_attach(other, memory, sizeof *memory);
  MPI_Get_address(memory, &mine);
  const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
  CALL(MPI_Sendrecv, &mine, 1, MPI_AINT, before, 0, &there, 1, MPI_AINT, after, 0, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  truth_sends(0, before, 0, WORLD, sizeof mine, TRUTH_STANDARD);
  truth_receives(0, after, 0, WORLD, sizeof there);
  return there;
}

SCENARIO fence_kinds(void) {
  int* base;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CALL(MPI_Win_create, memory, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  note(TRUTH_CREATE);
  use(0, 0);
  CALL(MPI_Win_allocate, sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other);
  note(TRUTH_CREATE);
  use(1, 0);
  CALL(MPI_Win_allocate_shared, sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other);
  note(TRUTH_CREATE);
  use(2, 0);
  CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  note(TRUTH_CREATE);
  if (other != MPI_WIN_NULL) use(3, neighbours_memory());
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  partner = rank ^ 1;
  origin = rank % 2 == 0;
  alone = partner >= ranks;
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  if (!alone) MPI_Group_incl(everyone, 1, &partner, &pair);
  CALL(MPI_Win_allocate, (MPI_Aint)((size_t)(ranks + BULK) * sizeof *memory), sizeof *memory, MPI_INFO_NULL,
       MPI_COMM_WORLD, &memory, &window);
  note(TRUTH_CREATE);
  truth_window(WINDOW, WORLD);
  for (int kind = 0; kind < 4; ++kind) truth_window(OTHERS + kind, WORLD);
  RUN(wait_at_fence);
  RUN(early_fence);
  RUN(fence_assertions);
  if (!only || strstr(only, "fence")) end_fences();
  RUN(late_post);
  RUN(early_transfer);
  RUN(early_wait);
  RUN(late_complete);
  RUN(test_loop);
  RUN(many_origins);
  RUN(mixed);
  RUN(create_and_free);
  RUN(fence_kinds);
  CALL(MPI_Win_free, &window);
  note(TRUTH_FREE);
  if (!alone) MPI_Group_free(&pair);
  MPI_Group_free(&everyone);
  return truth_end();
}
