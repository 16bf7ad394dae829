// A session of its own keeps what a launcher starts from asking for passwords on our terminal, and lets all
// of it be ended at once. The kernel ends the command where we are killed.
#include "stacks/commands.hpp"

#include "files/named_file.hpp"
#include "stacks/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit::stacks {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostText = std::size_t{512} << 20U;  // bytes
/// For so long a launcher may end what it started, once it is asked to.
constexpr std::chrono::seconds kPatienceAtEnd{3};
/// For so long what it leaves behind may go on writing once it has ended.
constexpr std::chrono::milliseconds kAfterEnd{500};
constexpr int kStep = 50;  // ms

struct Pipe {
  files::Descriptor read, write;
};

bool open_pipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe.read = files::Descriptor(ends[0]);
  pipe.write = files::Descriptor(ends[1]);
  return true;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child, between fork and exec: only what a handler of signals may call.
[[noreturn]] void become(char* const* words, char* const* environment, int out, int err, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::execvpe(words[0], words, environment);
  ::_exit(127);
}

/// Returns false at the end.
bool read_some(int from, std::string& into) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(from, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  const auto size = static_cast<std::size_t>(got);
  into.append(buffer.data(), std::min(size, kMostText - std::min(kMostText, into.size())));
  return got > 0;
}

/// A child whose output is read until it ends.
class Running {
 public:
  Running(pid_t pid, int out, int err) : pid_(pid), ends_{{{out, POLLIN, 0}, {err, POLLIN, 0}}} {}

  /// Until it has ended and written all, or `until`. Returns whether it has ended.
  bool read_until(steady_clock::time_point until, Answer& answer) {
    while (steady_clock::now() < until) {
      const bool open = ends_[0].fd >= 0 || ends_[1].fd >= 0;
      if (ended_ && (!open || steady_clock::now() > ended_at_ + kAfterEnd)) return true;
      if (::poll(ends_.data(), ends_.size(), kStep) > 0) {
        take(ends_[0], answer.out);
        take(ends_[1], answer.err);
      }
      if (!ended_ && has_ended()) {
        ended_ = true;
        ended_at_ = steady_clock::now();
      }
      if (!open && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(kStep));
    }
    return ended_;
  }

  /// And what is left of what it started. A launcher first ends what it has started elsewhere.
  void end(Answer& answer) {
    ::kill(pid_, SIGTERM);
    read_until(steady_clock::now() + kPatienceAtEnd, answer);
    ::kill(-pid_, SIGKILL);
    for (const ProcessEntry& each : all_processes()) {
      if (each.session == pid_) ::kill(each.pid, SIGKILL);
    }
  }

  [[nodiscard]] int wait() const {
    constexpr int kOfSignal = 128;
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : kOfSignal + WTERMSIG(status);
  }

 private:
  /// Its number stays its own until wait().
  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  }

  static void take(pollfd& end, std::string& into) {
    if (end.fd >= 0 && end.revents != 0 && !read_some(end.fd, into)) end.fd = -1;
  }

  pid_t pid_;
  std::array<pollfd, 2> ends_;
  bool ended_ = false;
  steady_clock::time_point ended_at_;
};

}  // namespace

Answer run_command(const Command& command, double seconds) {
  Answer answer;
  Pipe out, err;
  if (command.words.empty() || !open_pipe(out) || !open_pipe(err)) return answer;
  std::vector<std::string> words = command.words, environment = command.environment;
  const std::vector<char*> arguments = pointers_to(words), variables = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(arguments.data(), variables.data(), out.write.get(), err.write.get(), parent);
  if (pid < 0) return answer;
  out.write = files::Descriptor();
  err.write = files::Descriptor();
  Running running(pid, out.read.get(), err.read.get());
  const auto limit =
      std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
  if (!running.read_until(steady_clock::now() + limit, answer)) {
    answer.late = true;
    running.end(answer);
  }
  answer.status = running.wait();
  return answer;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    all.emplace_back(*variable);
  return all;
}

std::string own_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace culprit::stacks
