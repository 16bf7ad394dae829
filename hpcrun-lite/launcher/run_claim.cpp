// Agrees on the measurement directory with the other ranks without talking to them. All derive the run's id
// from the job (runtime/process/job_key.hpp). The rank that makes the run marker, exclusively, has claimed
// the directory; the others read it and compare the id. Files that another host made may appear late, so each
// step is repeated, up to half a minute. Without -o the directory is named after the program of the rank that
// came first, under a lock that is itself a directory. Each rank then sets a byte of its own in a file, which
// shows all of them whether all ranks are measured.
#include "launcher/run_claim.hpp"

#include "launcher/program.hpp"
#include "measurement/file_space.hpp"
#include "measurement/measurement.hpp"
#include "measurement/run_marker.hpp"
#include "measurement/write_signals.hpp"
#include "runtime/process/job_key.hpp"
#include "runtime/process/run_directory.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = measurement::kRunMarker;
// What other hosts made is seen late: by default of NFS up to half a minute.
constexpr std::chrono::milliseconds kPause(50);
constexpr int kUntilSeen = 600;  // pauses
constexpr int kUntilNamed = 100;
constexpr const char* kNameStart = "culprit-";

std::string random_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 32; ++i) id += "0123456789abcdef"[random() % 16];
  return id;
}

/// When and as which process a run without MPI began: readable, and unique on a host.
std::string time_name() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return std::string(text) + "-" + std::to_string(getpid());
}

[[noreturn]] void refuse(const fs::path& directory, const std::string& why) {
  throw Failure(kFailure, "output: " + directory.string() + ": " + why);
}

[[noreturn]] void refuse(const fs::path& directory, int error) {
  refuse(directory, std::string(std::strerror(error)) + " (choose another directory with -o)");
}

/// Returns the errno of `attempt`, made again for a second while a network file system's server fails.
template <typename Attempt>
int persistently(const Attempt& attempt) {
  constexpr int kAttempts = 10;
  int error = attempt();
  for (int i = 1; i < kAttempts && measurement::is_passing(error); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    error = attempt();
  }
  return error;
}

/// The run id in a marker that is there. Siblings may see it before it is written on file systems without
/// hard links, and before it is there at all where another host made it: a host may go on believing for a
/// while that there was none.
std::string read_marker(const fs::path& directory) {
  using State = measurement::RunMarker::State;
  constexpr int kUntilWritten = 20;
  int damaged = 0;
  for (int attempt = 0; attempt < kUntilSeen && damaged < kUntilWritten; ++attempt) {
    try {
      const measurement::RunMarker marker = measurement::read_run_marker(directory);
      if (marker.state == State::read) return marker.run_id;
      damaged += marker.state == State::damaged ? 1 : 0;
    } catch (const measurement::MeasurementError& error) {
      refuse(directory, "its run marker " + std::string(error.what()));
    }
    std::this_thread::sleep_for(kPause);
  }
  refuse(directory, "its run marker cannot be read (remove the directory or choose another one with -o)");
}

/// Where another host has just made it, this one may go on believing for a while that there is none.
int make_directory(const fs::path& directory) {
  std::error_code error;
  for (int attempt = 0; attempt < kUntilSeen; ++attempt) {
    fs::create_directories(directory, error);
    if (error != std::errc::file_exists) break;
    std::error_code ignored;
    const fs::file_status seen = fs::status(directory, ignored);
    if (fs::is_directory(seen)) return 0;
    if (fs::exists(seen)) break;  // a file of that name
    std::this_thread::sleep_for(kPause);
  }
  return error.value();
}

enum class Holds { nothing, measurements, others };

/// Of what a run of ours puts into its directory before the marker: nothing. Its ranks' files come later.
int look_into(const fs::path& directory, Holds& holds) {
  std::error_code error;
  holds = Holds::nothing;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind("culprit.", 0) == 0) continue;
    const bool shard = name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!shard) holds = Holds::others;
    if (holds == Holds::nothing) holds = Holds::measurements;
  }
  return error.value();
}

void join_or_refuse(const fs::path& directory, const std::string& run_id) {
  if (read_marker(directory) == run_id) return;
  refuse(directory, "holds another run (choose another directory with -o, or remove it)");
}

[[noreturn]] void refuse_what_it_holds(const fs::path& directory) {
  refuse(directory, "is not empty and no measurement (choose another directory with -o)");
}

void claim(const fs::path& directory, const std::string& run_id) {
  const fs::path marker = directory / kMarker;
  std::error_code error;
  int failed = persistently([&] { return make_directory(directory); });
  if (failed != 0) refuse(directory, failed);
  if (fs::exists(marker, error)) return join_or_refuse(directory, run_id);
  Holds holds = Holds::nothing;
  failed = persistently([&] { return look_into(directory, holds); });
  if (failed != 0) refuse(directory, failed);
  if (holds == Holds::others && !fs::exists(marker, error)) refuse_what_it_holds(directory);
  failed = persistently([&] { return runtime::write_marker(marker.c_str(), run_id.c_str()); });
  if (failed == EEXIST) return join_or_refuse(directory, run_id);
  if (failed != 0) refuse(directory, failed);
  if (holds == Holds::nothing) return;
  fs::remove(marker, error);  // the server, too, says that nobody had marked it
  refuse_what_it_holds(directory);
}

/// Notes that this rank is measured; each rank has a byte of its own. Returns an errno; EINVAL: the file is
/// not this run's own.
int note_rank(const fs::path& directory, long rank) {
  const measurement::WriteSignals signals;
  const int descriptor = open((directory / runtime::kRegister).c_str(),
                              O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor < 0) return errno;
  struct stat status {};
  int error = fstat(descriptor, &status) != 0 ? errno : 0;
  if (error == 0 && (!S_ISREG(status.st_mode) || status.st_nlink != 1)) error = EINVAL;
  if (error == 0) {
    const ssize_t written = pwrite(descriptor, &runtime::kRegistered, 1, rank);
    if (written != 1) error = written < 0 ? errno : ENOSPC;
  }
  // What a server could not take is only known now.
  if (close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

void register_rank(const fs::path& directory, long rank) {
  int error = EEXIST;
  // Where another host has just made the file, some file systems refuse to open it, which NFS does not.
  for (int attempt = 0; attempt < kUntilSeen && error == EEXIST; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kPause);
    error = persistently([&] { return note_rank(directory, rank); });
  }
  if (error == EINVAL) {
    refuse(directory, std::string(runtime::kRegister) +
                          " in it is no file of this run's own (choose another directory with -o)");
  }
  if (error != 0) refuse(directory, error);
}

/// The directory beside `own` that siblings which run another program have named; empty where there is none.
fs::path named_by_others(const fs::path& own, const std::string& ending) {
  std::error_code error;
  fs::directory_iterator entry(own.parent_path(), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kNameStart) && name.ends_with(ending) && entry->is_directory(error))
      return entry->path();
  }
  return {};
}

/// The first rank of a job names its directory, after its program, and ranks that run other programs (`mpirun
/// a : b`) join it. As nothing but the job's id is common to them, a directory made exclusively serves as a
/// lock around looking and naming. One that was left behind by a rank's death costs only the common name.
fs::path name_with_siblings(const fs::path& own, const std::string& ending) {
  const fs::path lock = own.parent_path() / ("." + std::string(kNameStart) + ending.substr(1));
  std::error_code error;
  for (int attempt = 0; attempt < kUntilNamed; ++attempt) {
    if (fs::exists(own, error)) return own;
    // Many ranks start at once: only those that another program's rank was faster than list the directory.
    if (attempt > 0) {
      if (fs::path theirs = named_by_others(own, ending); !theirs.empty()) return theirs;
    }
    if (mkdir(lock.c_str(), 0777) == 0) {
      fs::path name = named_by_others(own, ending);
      if (name.empty()) {
        name = own;
        fs::create_directory(own, error);  // claim() reports what fails
      }
      fs::remove(lock, error);
      return name;
    }
    if (errno != EEXIST) break;
    std::this_thread::sleep_for(kPause);
  }
  return own;
}

}  // namespace

RunClaim claim_run(const std::string& output, const std::string& program_name) {
  runtime::JobKey job;
  const bool in_job = runtime::find_job_key(job);
  RunClaim run;
  run.run_id = in_job ? job.id.c_str() : random_id();
  const std::string ending = "-" + (in_job ? run.run_id.substr(0, 12) : time_name());
  std::error_code error;
  run.directory = fs::absolute(output.empty() ? kNameStart + program_name + ending : output, error);
  if (error)
    throw Failure(kFailure, "output: " + output + ": " + error.message() + " (give an absolute directory)");
  run.directory = run.directory.lexically_normal();
  if (!run.directory.has_filename()) run.directory = run.directory.parent_path();
  if (output.empty() && in_job) run.directory = name_with_siblings(run.directory, ending);
  claim(run.directory, run.run_id);
  if (in_job) register_rank(run.directory, job.rank);
  return run;
}

}  // namespace culprit::launcher
