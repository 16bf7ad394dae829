// Reading from and writing to sockets and pipes.
#include "ends.hpp"

#include <atomic>
#include <cstdio>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

namespace blocking {

namespace {

Ends make_sockets(int type = SOCK_STREAM) {
  Ends made{};
  require(socketpair(AF_UNIX, type, 0, made.ends) == 0, "socketpair");
  return made;
}

void limit(int socket, int option) {
  const timeval time{0, kLimit / 1000};
  require(setsockopt(socket, SOL_SOCKET, option, &time, sizeof time) == 0, "setsockopt");
}

int timed_socket() {
  const Ends made = make_sockets();
  limit(made.in(), SO_RCVTIMEO);
  return made.in();
}

/// An end that takes no more bytes.
int fill(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
  const std::vector<char> bytes(4096);
  while (write(descriptor, bytes.data(), bytes.size()) > 0) {
  }
  while (write(descriptor, bytes.data(), 1) > 0) {
  }
  fcntl(descriptor, F_SETFL, flags);
  return descriptor;
}

int full_timed_socket() {
  const Ends made = make_sockets();
  limit(made.out(), SO_SNDTIMEO);
  return fill(made.out());
}

sockaddr_un listen_on(int& listener, int backlog) {
  static std::atomic<int> number{0};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "blocking-%d-%d", getpid(), ++number);
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  require(bind(listener, generic, sizeof address) == 0 && listen(listener, backlog) == 0, "listen");
  return address;
}

int listener(bool timed) {
  int made = -1;
  listen_on(made, 5);
  if (timed) limit(made, SO_RCVTIMEO);
  return made;
}

/// A connection to a listener that has no room for it.
Outcome connect_in_vain(bool timed) {
  int full = -1;
  const sockaddr_un address = listen_on(full, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  require(connect(socket(AF_UNIX, SOCK_STREAM, 0), generic, sizeof address) == 0, "first connect");
  const int second = socket(AF_UNIX, SOCK_STREAM, 0);
  if (timed) limit(second, SO_SNDTIMEO);
  return plain(connect(second, generic, sizeof address));
}

/// Reads `count` bytes slowly, in pieces, as a slow reader does.
void drain(int descriptor, std::size_t count) {
  after(kLate, [descriptor, count] {
    std::vector<char> bytes(8192);
    for (std::size_t left = count; left > 0;) {
      const ssize_t length = read(descriptor, bytes.data(), left < bytes.size() ? left : bytes.size());
      if (length <= 0) return;
      left -= static_cast<std::size_t>(length);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
}

/// Over the loopback interface.
Ends make_connection() {
  const int waiting = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  require(bind(waiting, generic, size) == 0 && listen(waiting, 1) == 0, "listen");
  require(getsockname(waiting, generic, &size) == 0, "getsockname");
  const int out = socket(AF_INET, SOCK_STREAM, 0);
  require(connect(out, generic, size) == 0, "connect");
  return {{accept(waiting, nullptr, nullptr), out}};
}

/// Closes a socket that has sent more than its peer takes, and is to linger for a second: whether it did.
template <typename Close>
Outcome lingers(Close close_it) {
  const int socket = fill(make_connection().out());
  const linger second{1, 1};
  require(setsockopt(socket, SOL_SOCKET, SO_LINGER, &second, sizeof second) == 0, "setsockopt");
  const auto begin = std::chrono::steady_clock::now();
  require(close_it(socket) != -1, "close");
  return {std::chrono::steady_clock::now() - begin > milliseconds(500) ? 1 : 0, 0};
}

constexpr std::size_t kFile = 64 << 20;

/// Copies a file some times; what the first copy returned that came short, or the last.
template <typename Copy>
Outcome copies(Copy copy) {
  const int from = memfd_create("blocking", 0);
  require(ftruncate(from, kFile) == 0, "ftruncate");
  Outcome outcome{};
  for (int i = 0; i < 5; ++i) {
    const int to = memfd_create("blocking", 0);
    lseek(from, 0, SEEK_SET);
    outcome = plain(copy(from, to));
    close(to);
    if (outcome.result != static_cast<long>(kFile)) break;
  }
  return outcome;
}

iovec piece(std::vector<char>& bytes) {
  return {bytes.data(), bytes.size()};
}

msghdr gathered(iovec& part) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return message;
}

char room[64];

}  // namespace

std::vector<Row> receiving() {
  const auto message = [](int socket) {
    std::vector<char> bytes(16);
    iovec part = piece(bytes);
    msghdr header = gathered(part);
    return plain(recvmsg(socket, &header, 0));
  };
  const auto messages = [](int socket, timespec* time) {
    std::vector<char> bytes(16);
    iovec part = piece(bytes);
    mmsghdr header{gathered(part), 0};
    return plain(recvmmsg(socket, &header, 1, 0, time));
  };
  const auto whole = [](auto receive) {
    const Ends ends = make_sockets();
    supply(ends.out(), kLarge);
    std::vector<char> bytes(kLarge);
    return plain(receive(ends.in(), bytes));
  };
  return {
      {Kind::timed, "recv", [] { return plain(recv(timed_socket(), room, 16, 0)); }},
      {Kind::timed, "recv all", [] { return plain(recv(timed_socket(), room, 16, MSG_WAITALL)); }},
      {Kind::timed, "recvfrom",
       [] { return plain(recvfrom(timed_socket(), room, 16, 0, nullptr, nullptr)); }},
      {Kind::timed, "recvmsg", [=] { return message(timed_socket()); }},
      {Kind::timed, "recvmmsg", [=] { return messages(timed_socket(), nullptr); }},
      {Kind::timed, "read from a socket", [] { return plain(read(timed_socket(), room, 16)); }},
      {Kind::timed, "readv from a socket",
       [] {
         const iovec part{room, 16};
         return plain(readv(timed_socket(), &part, 1));
       }},
      {Kind::timed, "preadv2 from a socket",
       [] {
         const iovec part{room, 16};
         return plain(preadv2(timed_socket(), &part, 1, -1, 0));
       }},
      {Kind::timed, "accept", [] { return plain(accept(listener(true), nullptr, nullptr)); }},
      {Kind::timed, "accept4", [] { return plain(accept4(listener(true), nullptr, nullptr, SOCK_CLOEXEC)); }},
      {Kind::broken, "recv", [] { return plain(recv(make_sockets().in(), room, 16, 0)); }},
      {Kind::broken, "recv with a limit",
       [] {
         const int socket = make_sockets().in();
         const timeval time{20, 0};
         setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
         return plain(recv(socket, room, 16, 0));
       }},
      {Kind::broken, "recv all, some came",
       [] {
         const Ends ends = make_sockets();
         require(write(ends.out(), "12345", 5) == 5, "write");
         return plain(recv(ends.in(), room, 16, MSG_WAITALL));
       }},
      {Kind::broken, "recvmsg", [=] { return message(make_sockets().in()); }},
      {Kind::broken, "read from a socket", [] { return plain(read(make_sockets().in(), room, 16)); }},
      {Kind::broken, "accept", [] { return plain(accept(listener(false), nullptr, nullptr)); }},
      {Kind::complete, "recv at least so much",
       [] {
         const Ends ends = make_connection();
         const int least = 16;
         setsockopt(ends.in(), SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
         require(write(ends.out(), "12345", 5) == 5, "write");
         supply(ends.out(), 59);
         return plain(recv(ends.in(), room, sizeof room, 0));
       }},
      {Kind::complete, "recv without waiting",
       [] {
         const int socket = make_sockets().in();
         fcntl(socket, F_SETFL, O_NONBLOCK);
         return plain(recv(socket, room, sizeof room, 0));
       }},
      {Kind::complete, "recv all",
       [=] {
         return whole([](int in, auto& bytes) { return recv(in, bytes.data(), bytes.size(), MSG_WAITALL); });
       }},
      {Kind::complete, "recvfrom all",
       [=] {
         return whole([](int in, auto& bytes) {
           return recvfrom(in, bytes.data(), bytes.size(), MSG_WAITALL, nullptr, nullptr);
         });
       }},
      {Kind::complete, "recvmsg all",
       [=] {
         return whole([](int in, auto& bytes) {
           iovec part = piece(bytes);
           msghdr header = gathered(part);
           return recvmsg(in, &header, MSG_WAITALL);
         });
       }},
  };
}

std::vector<Row> sending() {
  const auto whole = [](Ends ends, auto send_to) {
    drain(ends.in(), kLarge);
    std::vector<char> bytes(kLarge);
    return plain(send_to(ends.out(), bytes));
  };
  const auto by_write = [](int out, auto& bytes) { return write(out, bytes.data(), bytes.size()); };
  const auto by_writev = [](int out, auto& bytes) {
    const iovec part = piece(bytes);
    return writev(out, &part, 1);
  };
  return {
      {Kind::timed, "send", [] { return plain(send(full_timed_socket(), room, 16, 0)); }},
      {Kind::timed, "sendto", [] { return plain(sendto(full_timed_socket(), room, 16, 0, nullptr, 0)); }},
      {Kind::timed, "sendmsg",
       [] {
         iovec part{room, 16};
         const msghdr header = gathered(part);
         return plain(sendmsg(full_timed_socket(), &header, 0));
       }},
      {Kind::timed, "write to a socket", [] { return plain(write(full_timed_socket(), room, 16)); }},
      {Kind::timed, "pwritev2 to a socket",
       [] {
         const iovec part{room, 16};
         return plain(pwritev2(full_timed_socket(), &part, 1, -1, 0));
       }},
      {Kind::timed, "dprintf to a socket", [] { return plain(dprintf(full_timed_socket(), "%s", "hello")); }},
      {Kind::timed, "fflush to a socket",
       [] {
         FILE* const stream = fdopen(full_timed_socket(), "w");
         fputs("hello", stream);
         return plain(fflush(stream));
       }},
      {Kind::timed, "fclose of a socket",
       [] {
         FILE* const stream = fdopen(full_timed_socket(), "w");
         fputs("hello", stream);
         return plain(fclose(stream));
       }},
      {Kind::complete, "close of a socket that lingers", [] { return lingers(close); }},
      {Kind::complete, "dup2 over a socket that lingers",
       [] { return lingers([](int socket) { return dup2(STDIN_FILENO, socket); }); }},
      {Kind::complete, "syscall close of a socket that lingers",
       [] { return lingers([](int socket) { return syscall(SYS_close, socket); }); }},
      {Kind::timed, "connect", [] { return connect_in_vain(true); }},
      {Kind::broken, "connect", [] { return connect_in_vain(false); }},
      {Kind::broken, "send", [] { return plain(send(fill(make_sockets().out()), room, 16, 0)); }},
      {Kind::broken, "write to a full pipe", [] { return plain(write(fill(make_pipe().out()), room, 16)); }},
      {Kind::broken, "write more than a pipe holds",
       [] {
         const std::vector<char> bytes(kLarge);
         return plain(write(make_pipe().out(), bytes.data(), bytes.size()));
       }},
      {Kind::complete, "write to a pipe", [=] { return whole(make_pipe(), by_write); }},
      {Kind::complete, "writev to a pipe", [=] { return whole(make_pipe(), by_writev); }},
      {Kind::complete, "write to a socket", [=] { return whole(make_sockets(), by_write); }},
      {Kind::complete, "writev to a socket", [=] { return whole(make_sockets(), by_writev); }},
      {Kind::complete, "send",
       [=] {
         return whole(make_sockets(),
                      [](int out, auto& bytes) { return send(out, bytes.data(), bytes.size(), 0); });
       }},
      {Kind::complete, "sendmsg",
       [=] {
         return whole(make_sockets(), [](int out, auto& bytes) {
           iovec part = piece(bytes);
           const msghdr header = gathered(part);
           return sendmsg(out, &header, 0);
         });
       }},
      {Kind::complete, "pwritev2 to a pipe",
       [=] {
         return whole(make_pipe(), [](int out, auto& bytes) {
           const iovec part = piece(bytes);
           return pwritev2(out, &part, 1, -1, 0);
         });
       }},
      {Kind::complete, "copy_file_range",
       [] {
         return copies(
             [](int from, int to) { return copy_file_range(from, nullptr, to, nullptr, kFile, 0); });
       }},
      {Kind::complete, "syscall copy_file_range",
       [] {
         return copies([](int from, int to) {
           return syscall(SYS_copy_file_range, from, nullptr, to, nullptr, kFile, 0);
         });
       }},
      {Kind::complete, "sendfile to a file",
       [] { return copies([](int from, int to) { return sendfile(to, from, nullptr, kFile); }); }},
      {Kind::complete, "fwrite to a pipe",
       [=] {
         return whole(make_pipe(), [](int out, auto& bytes) {
           FILE* stream = fdopen(out, "w");
           const std::size_t written = fwrite(bytes.data(), 1, bytes.size(), stream);
           return fflush(stream) == 0 ? static_cast<ssize_t>(written) : -1;
         });
       }},
      {Kind::complete, "fread from a pipe",
       [] {
         const Ends ends = make_pipe();
         supply(ends.out(), kLarge);
         std::vector<char> bytes(kLarge);
         return plain(static_cast<long>(fread(bytes.data(), 1, bytes.size(), fdopen(ends.in(), "r"))));
       }},
      {Kind::complete, "sendfile",
       [=] {
         return whole(make_pipe(), [](int out, auto& bytes) {
           const int file = memfd_create("blocking", 0);
           require(ftruncate(file, static_cast<off_t>(bytes.size())) == 0, "ftruncate");
           return sendfile(out, file, nullptr, bytes.size());
         });
       }},
  };
}

}  // namespace blocking
