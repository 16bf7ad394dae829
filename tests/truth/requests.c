/* Truth: the waits of calls that complete nonblocking operations. Ranks pair up (0,1), (2,3), ...; of a pair
 * the lower rank plays the sender. */
#include "truth_program.h"

static int partner, sends, alone;
static int operation; /* the last operation's number */

static void send_word(int tag) {
  const int word = tag;
  CALL(MPI_Send, &word, 1, MPI_INT, partner, tag, MPI_COMM_WORLD);
  truth_sends(0, partner, tag, WORLD, sizeof word, TRUTH_EAGER);
}

static void receive_word(int tag) {
  int word;
  CALL(MPI_Recv, &word, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  truth_receives(0, partner, tag, WORLD, sizeof word);
}

/* Posts a receive and returns its number. */
static int post(int* word, int tag, MPI_Request* request) {
  CALL(MPI_Irecv, word, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, request);
  truth_receives(++operation, partner, tag, WORLD, sizeof *word);
  return operation;
}

SCENARIO wait_for_receive(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(1);
  } else {
    int word;
    MPI_Request request;
    const int posted = post(&word, 1, &request);
    truth_sleep(delay / 4);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    truth_completes(posted);
  }
}

SCENARIO wait_for_send(void) {
  if (alone) return;
  if (sends) {
    int word = 2;
    MPI_Request request;
    CALL(MPI_Issend, &word, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &request);
    truth_sends(++operation, partner, 2, WORLD, sizeof word, TRUTH_SYNCHRONOUS);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    truth_completes(operation);
  } else {
    truth_sleep(delay);
    receive_word(2);
  }
}

/* Three messages at different times: the call waits for the last. */
SCENARIO wait_for_all(void) {
  if (alone) return;
  if (sends) {
    for (int i = 0; i < 3; ++i) {
      truth_sleep(delay / 3);
      send_word(10 + i);
    }
  } else {
    int word[3], posted[3];
    MPI_Request request[3];
    for (int i = 0; i < 3; ++i) posted[i] = post(&word[i], 10 + i, &request[i]);
    MPI_Status status[3];
    CALL(MPI_Waitall, 3, request, status);
    for (int i = 0; i < 3; ++i) truth_completes(posted[i]);
  }
}

/* The same, one by one: each call waits for the next. */
SCENARIO wait_for_any(void) {
  if (alone) return;
  if (sends) {
    for (int i = 0; i < 3; ++i) {
      truth_sleep(delay / 2);
      send_word(20 + i);
    }
  } else {
    int word[3], posted[3];
    MPI_Request request[3];
    for (int i = 0; i < 3; ++i) posted[i] = post(&word[i], 20 + i, &request[i]);
    for (int i = 0; i < 3; ++i) {
      int index;
      CALL(MPI_Waitany, 3, request, &index, MPI_STATUS_IGNORE);
      truth_completes(posted[index]);
    }
  }
}

SCENARIO wait_for_some(void) {
  if (alone) return;
  if (sends) {
    for (int i = 0; i < 3; ++i) {
      truth_sleep(delay / 2);
      send_word(30 + i);
    }
  } else {
    int word[3], posted[3], done = 0;
    MPI_Request request[3];
    for (int i = 0; i < 3; ++i) posted[i] = post(&word[i], 30 + i, &request[i]);
    while (done < 3) {
      int count, index[3];
      MPI_Status status[3];
      CALL(MPI_Waitsome, 3, request, &count, index, status);
      for (int i = 0; i < count; ++i) truth_completes(posted[index[i]]);
      done += count;
    }
  }
}

SCENARIO test_loop(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(3);
  } else {
    int word, done = 0, calls = 1;
    MPI_Request request;
    const int posted = post(&word, 3, &request);
    truth_enter("MPI_Test", __func__);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    const long long first = truth_now();
    for (; !done; ++calls) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    truth_exit();
    truth_completes(posted);
    truth_polls(calls, first);
  }
}

SCENARIO probe_loop(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(6);
  } else {
    int word, there = 0, calls = 1;
    truth_enter("MPI_Iprobe", __func__);
    MPI_Iprobe(partner, 6, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    const long long first = truth_now();
    for (; !there; ++calls) MPI_Iprobe(partner, 6, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    truth_exit();
    truth_probes(partner, 6, WORLD);
    truth_polls(calls, first);
    CALL(MPI_Recv, &word, 1, MPI_INT, partner, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    truth_receives(0, partner, 6, WORLD, sizeof word);
  }
}

/* A wildcard receive: who sent is known when it is complete. */
SCENARIO wildcard(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(4);
  } else {
    int word;
    MPI_Request request;
    MPI_Status status;
    CALL(MPI_Irecv, &word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    truth_receives(++operation, -1, -1, WORLD, sizeof word);
    CALL(MPI_Wait, &request, &status);
    truth_completes_from(operation, status.MPI_SOURCE, status.MPI_TAG);
  }
}

/* The same persistent request three times: the receiver waits, the sender waits, nobody waits. */
SCENARIO persistent(void) {
  if (alone) return;
  static const double early[] = {0, 1, 0.5}, late[] = {1, 0, 0.5}; /* of the receiver, of the sender */
  int word = 5;
  MPI_Request request;
  if (sends) {
    MPI_Ssend_init(&word, 1, MPI_INT, partner, 5, MPI_COMM_WORLD, &request);
  } else {
    MPI_Recv_init(&word, 1, MPI_INT, partner, 5, MPI_COMM_WORLD, &request);
  }
  for (int i = 0; i < 3; ++i) {
    truth_sleep(delay * (sends ? late[i] : early[i]));
    CALL(MPI_Start, &request);
    if (sends) {
      truth_sends(++operation, partner, 5, WORLD, sizeof word, TRUTH_SYNCHRONOUS);
    } else {
      truth_receives(++operation, partner, 5, WORLD, sizeof word);
    }
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    truth_completes(operation);
  }
  MPI_Request_free(&request);
}

/* Messages are awaited in the order opposite to their sending. */
SCENARIO wrong_order(void) {
  if (alone) return;
  if (sends) {
    send_word(40);
    truth_sleep(delay);
    send_word(41);
  } else {
    int word[2], posted[2];
    MPI_Request request[2];
    for (int i = 0; i < 2; ++i) posted[i] = post(&word[i], 40 + i, &request[i]);
    for (int i = 1; i >= 0; --i) {
      CALL(MPI_Wait, &request[i], MPI_STATUS_IGNORE);
      truth_completes(posted[i]);
    }
  }
}

/* A receive that is cancelled waits for nobody. */
SCENARIO cancelled(void) {
  if (alone) return;
  int word;
  MPI_Request request;
  CALL(MPI_Irecv, &word, 1, MPI_INT, partner, 6, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
}

/* What comes after a receive that no call sees complete waits for its own sender. */
static void receive_late(int tag) {
  if (sends) {
    truth_sleep(delay);
    send_word(tag);
  } else {
    receive_word(tag);
  }
}

/* Freed receives take their messages all the same. `from` and `as`: what they are posted for. */
static void free_receive(int tag, int from, int as) {
  static int word; /* the message may come at any time */
  if (sends) {
    send_word(tag);
  } else {
    MPI_Request request;
    CALL(MPI_Irecv, &word, 1, MPI_INT, from, as, MPI_COMM_WORLD, &request);
    truth_receives(++operation, partner, tag, WORLD, sizeof word);
    MPI_Request_free(&request);
  }
}

SCENARIO freed(void) {
  if (alone) return;
  free_receive(7, partner, 7);
  receive_late(7);
}

SCENARIO freed_wildcard(void) {
  if (alone) return;
  free_receive(8, MPI_ANY_SOURCE, MPI_ANY_TAG);
  receive_late(7);
}

/* A receive that is too short for its message takes it, too. */
SCENARIO too_short(void) {
  if (alone) return;
  if (sends) {
    const int words[2] = {9, 9};
    CALL(MPI_Send, words, 2, MPI_INT, partner, 9, MPI_COMM_WORLD);
    truth_sends(0, partner, 9, WORLD, sizeof words, TRUTH_EAGER);
  } else {
    int word;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CALL(MPI_Recv, &word, 1, MPI_INT, partner, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    truth_receives(0, partner, 9, WORLD, 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }
  receive_late(9);
}

SCENARIO persistent_cancelled(void) {
  if (alone) return;
  if (!sends) {
    int word;
    MPI_Request request;
    MPI_Recv_init(&word, 1, MPI_INT, partner, 11, MPI_COMM_WORLD, &request);
    CALL(MPI_Start, &request);
    MPI_Cancel(&request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    send_word(12);
  } else {
    receive_word(12); /* what comes before the receive is cancelled, it takes */
  }
  receive_late(11);
}

/* A halo that is posted early: the sender computes for longer, and the message stands still until it is back.
 */
SCENARIO late_return(void) {
  if (alone) return;
  enum { LARGE = 1 << 20 };
  static char halo[LARGE];
  MPI_Request request;
  if (sends) {
    CALL(MPI_Isend, halo, LARGE, MPI_CHAR, partner, 30, MPI_COMM_WORLD, &request);
    truth_sends(++operation, partner, 30, WORLD, LARGE, TRUTH_STANDARD);
    truth_sleep(delay);
  } else {
    CALL(MPI_Irecv, halo, LARGE, MPI_CHAR, partner, 30, MPI_COMM_WORLD, &request);
    truth_receives(++operation, partner, 30, WORLD, LARGE);
  }
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  truth_completes(operation);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  partner = rank ^ 1;
  sends = rank % 2 == 0;
  alone = partner >= ranks;
  RUN(wait_for_receive);
  RUN(wait_for_send);
  RUN(wait_for_all);
  RUN(wait_for_any);
  RUN(wait_for_some);
  RUN(test_loop);
  RUN(probe_loop);
  RUN(wildcard);
  RUN(persistent);
  RUN(wrong_order);
  RUN(cancelled);
  RUN(freed);
  RUN(freed_wildcard);
  RUN(too_short);
  RUN(persistent_cancelled);
  RUN(late_return);
  return truth_end();
}
