// Semaphores and message queues.
#include "ends.hpp"

#include <atomic>
#include <semaphore>
#include <string>

#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

namespace blocking {

namespace {

int message_queue() {
  const int queue = msgget(IPC_PRIVATE, 0600);
  require(queue >= 0, "msgget");
  return queue;
}

Outcome then_remove_queue(int queue, Outcome outcome) {
  msgctl(queue, IPC_RMID, nullptr);
  return outcome;
}

struct Message {
  long type;
  char text[4096];
};

int full_message_queue() {
  const int queue = message_queue();
  const Message message{1, {}};
  while (msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) == 0) {
  }
  return queue;
}

mqd_t posix_queue(bool full) {
  static std::atomic<int> number{0};
  const std::string name = "/blocking-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  mq_attr attributes{};
  attributes.mq_maxmsg = 1;
  attributes.mq_msgsize = 8;
  const mqd_t queue = mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
  require(queue >= 0, "mq_open");
  mq_unlink(name.c_str());
  if (full) require(mq_send(queue, "12345678", 8, 0) == 0, "mq_send");
  return queue;
}

Outcome with_semaphores(const std::function<Outcome(int, sembuf*)>& act) {
  const int set = semget(IPC_PRIVATE, 1, 0600);
  require(set >= 0, "semget");
  sembuf take{0, -1, 0};
  const Outcome outcome = act(set, &take);
  semctl(set, 0, IPC_RMID);
  return outcome;
}

char room[64];

}  // namespace

std::vector<Row> semaphores() {
  const auto with_semaphore = [](auto wait) {
    static sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    return plain(wait(&semaphore));
  };
  const auto until = [](clockid_t clock, timespec by) {
    return [clock, by](sem_t* semaphore) {
      const timespec instant = later(clock, by);
      return clock == CLOCK_REALTIME ? sem_timedwait(semaphore, &instant)
                                     : sem_clockwait(semaphore, clock, &instant);
    };
  };
  return {
      {Kind::timed, "sem_timedwait", [=] { return with_semaphore(until(CLOCK_REALTIME, kShort)); }},
      {Kind::timed, "sem_clockwait", [=] { return with_semaphore(until(CLOCK_MONOTONIC, kShort)); }},
      {Kind::timed, "semtimedop",
       [] {
         return with_semaphores(
             [](int set, sembuf* take) { return plain(semtimedop(set, take, 1, &kShort)); });
       }},
      {Kind::timed, "counting_semaphore",
       [] {
         std::counting_semaphore<4> semaphore(0);
         return Outcome{semaphore.try_acquire_for(std::chrono::nanoseconds(kLimit)) ? 1 : 0, 0};
       }},
      {Kind::broken, "sem_wait", [=] { return with_semaphore(sem_wait); }},
      {Kind::broken, "sem_timedwait", [=] { return with_semaphore(until(CLOCK_REALTIME, kLong)); }},
      {Kind::broken, "sem_clockwait", [=] { return with_semaphore(until(CLOCK_MONOTONIC, kLong)); }},
      {Kind::broken, "semop",
       [] { return with_semaphores([](int set, sembuf* take) { return plain(semop(set, take, 1)); }); }},
      {Kind::broken, "semtimedop",
       [] {
         return with_semaphores(
             [](int set, sembuf* take) { return plain(semtimedop(set, take, 1, &kLong)); });
       }},
      {Kind::complete, "semop",
       [] {
         return with_semaphores([](int set, sembuf* take) {
           after(kLate, [set] {
             sembuf give{0, 1, 0};
             semop(set, &give, 1);
           });
           return plain(semop(set, take, 1));
         });
       }},
      {Kind::complete, "sem_wait",
       [=] {
         return with_semaphore([](sem_t* semaphore) {
           after(kLate, [semaphore] { sem_post(semaphore); });
           return sem_wait(semaphore);
         });
       }},
  };
}

std::vector<Row> messages() {
  return {
      {Kind::timed, "mq_timedreceive",
       [] {
         const timespec instant = later(CLOCK_REALTIME, kShort);
         return plain(mq_timedreceive(posix_queue(false), room, 8, nullptr, &instant));
       }},
      {Kind::timed, "mq_timedsend",
       [] {
         const timespec instant = later(CLOCK_REALTIME, kShort);
         return plain(mq_timedsend(posix_queue(true), room, 8, 0, &instant));
       }},
      {Kind::broken, "mq_receive", [] { return plain(mq_receive(posix_queue(false), room, 8, nullptr)); }},
      {Kind::broken, "mq_send", [] { return plain(mq_send(posix_queue(true), room, 8, 0)); }},
      {Kind::broken, "msgrcv",
       [] {
         const int queue = message_queue();
         Message message{};
         return then_remove_queue(queue, plain(msgrcv(queue, &message, sizeof message.text, 0, 0)));
       }},
      {Kind::broken, "msgsnd",
       [] {
         const int queue = full_message_queue();
         const Message message{1, {}};
         return then_remove_queue(queue, plain(msgsnd(queue, &message, sizeof message.text, 0)));
       }},
      {Kind::complete, "msgrcv",
       [] {
         const int queue = message_queue();
         after(kLate, [queue] {
           const Message message{1, {}};
           msgsnd(queue, &message, 8, 0);
         });
         Message message{};
         return then_remove_queue(queue, plain(msgrcv(queue, &message, sizeof message.text, 0, 0)));
       }},
      {Kind::complete, "msgsnd",
       [] {
         const int queue = full_message_queue();
         after(kLate, [queue] {
           Message message{};
           msgrcv(queue, &message, sizeof message.text, 0, 0);
         });
         const Message message{1, {}};
         return then_remove_queue(queue, plain(msgsnd(queue, &message, sizeof message.text, 0)));
       }},
      {Kind::complete, "mq_receive",
       [] {
         const mqd_t queue = posix_queue(false);
         after(kLate, [queue] { mq_send(queue, "12345678", 8, 0); });
         return plain(mq_receive(queue, room, 8, nullptr));
       }},
  };
}

}  // namespace blocking
