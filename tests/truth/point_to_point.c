/* Truth: the waits of blocking point-to-point calls. Ranks pair up (0,1), (2,3), ...; a last one without
 * partner only takes part in the barriers. */
#include "truth_program.h"

enum { kLarge = 4 << 20 }; /* bytes: more than any eager limit, so that MPI_Send waits for its receive */
static char large[kLarge];
static int partner;
static int alone;
static int sends; /* of a pair, the lower rank plays the sender */

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

SCENARIO late_sender(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(1);
  } else {
    receive_word(1);
  }
}

SCENARIO late_receiver(void) {
  if (alone) return;
  int word = 2;
  if (sends) {
    CALL(MPI_Ssend, &word, 1, MPI_INT, partner, 2, MPI_COMM_WORLD);
    truth_sends(0, partner, 2, WORLD, sizeof word, TRUTH_SYNCHRONOUS);
  } else {
    truth_sleep(delay);
    receive_word(2);
  }
}

SCENARIO late_receiver_large(void) {
  if (alone) return;
  if (sends) {
    CALL(MPI_Send, large, kLarge, MPI_CHAR, partner, 3, MPI_COMM_WORLD);
    truth_sends(0, partner, 3, WORLD, kLarge, TRUTH_STANDARD);
  } else {
    truth_sleep(delay);
    CALL(MPI_Recv, large, kLarge, MPI_CHAR, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    truth_receives(0, partner, 3, WORLD, kLarge);
  }
}

/* The first message is there all the time, but the second is received first. */
SCENARIO wrong_order(void) {
  if (alone) return;
  if (sends) {
    send_word(4);
    truth_sleep(delay);
    send_word(5);
  } else {
    receive_word(5);
    receive_word(4);
  }
}

SCENARIO send_and_receive(void) {
  if (alone) return;
  int mine = rank, other;
  if (sends) truth_sleep(delay);
  CALL(MPI_Sendrecv, &mine, 1, MPI_INT, partner, 6, &other, 1, MPI_INT, partner, 6, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  truth_sends(0, partner, 6, WORLD, sizeof mine, TRUTH_EAGER);
  truth_receives(0, partner, 6, WORLD, sizeof other);
}

SCENARIO probe(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(7);
  } else {
    CALL(MPI_Probe, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    truth_probes(partner, 7, WORLD);
    receive_word(7);
  }
}

SCENARIO matched_probe(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(8);
  } else {
    MPI_Message message;
    int word;
    CALL(MPI_Mprobe, partner, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    truth_receives(0, partner, 8, WORLD, sizeof word); /* the probe takes the message */
    CALL(MPI_Mrecv, &word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
}

SCENARIO any_source(void) {
  if (alone) return;
  if (sends) {
    truth_sleep(delay);
    send_word(9);
  } else {
    int word;
    MPI_Status status;
    CALL(MPI_Recv, &word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    truth_receives(0, status.MPI_SOURCE, status.MPI_TAG, WORLD, sizeof word);
  }
}

/* Nobody to wait for: the sender is early. */
SCENARIO on_time(void) {
  if (alone) return;
  if (sends) {
    send_word(10);
  } else {
    truth_sleep(delay);
    receive_word(10);
  }
  int word = 0;
  CALL(MPI_Recv, &word, 1, MPI_INT, MPI_PROC_NULL, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each waits for the other in turn. */
SCENARIO mixed(void) {
  if (alone) return;
  truth_sleep(sends ? 0.5 * delay : 0);
  late_sender();
  late_receiver();
  send_and_receive();
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  partner = rank ^ 1;
  sends = rank % 2 == 0;
  alone = partner >= ranks;
  memset(large, 1, sizeof large);
  RUN(late_sender);
  RUN(late_receiver);
  RUN(late_receiver_large);
  RUN(wrong_order);
  RUN(send_and_receive);
  RUN(probe);
  RUN(matched_probe);
  RUN(any_source);
  RUN(on_time);
  RUN(mixed);
  return truth_end();
}
