#include "launcher/run_claim.hpp"

#include "launcher/failure.hpp"
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

/// The run id in a marker. Siblings on file systems without hard links may see it before it is written.
std::string read_marker(const fs::path& directory) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    try {
      const measurement::RunMarker marker = measurement::read_run_marker(directory);
      if (marker.state == measurement::RunMarker::State::read) return marker.run_id;
    } catch (const measurement::MeasurementError& error) {
      refuse(directory, "its run marker " + std::string(error.what()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  refuse(directory, "its run marker cannot be read (remove the directory or choose another one with -o)");
}

/// True if the directory holds nothing but what a run of ours puts there.
bool is_free(const fs::path& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename().string().rfind("culprit.", 0) != 0) return false;
  }
  return !error;
}

void join_or_refuse(const fs::path& directory, const std::string& run_id) {
  if (read_marker(directory) == run_id) return;
  refuse(directory, "holds another run (choose another directory with -o, or remove it)");
}

void claim(const fs::path& directory, const std::string& run_id) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) refuse(directory, error.message() + " (choose another directory with -o)");
  if (fs::exists(directory / kMarker, error)) {
    join_or_refuse(directory, run_id);
    return;
  }
  if (!is_free(directory) && !fs::exists(directory / kMarker, error)) {
    refuse(directory, "is not empty and no measurement (choose another directory with -o)");
  }
  const int failed = runtime::write_marker((directory / kMarker).c_str(), run_id.c_str());
  if (failed == EEXIST) {
    join_or_refuse(directory, run_id);
  } else if (failed != 0) {
    refuse(directory, std::string(std::strerror(failed)) + " (choose another directory with -o)");
  }
}

/// Notes that this rank is measured; each rank has a byte of its own.
void register_rank(const fs::path& directory, long rank) {
  const measurement::WriteSignals signals;
  const int descriptor = open((directory / runtime::kRegister).c_str(),
                              O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor < 0)
    refuse(directory, std::string(std::strerror(errno)) + " (choose another directory with -o)");
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1) {
    close(descriptor);
    refuse(directory, std::string(runtime::kRegister) +
                          " in it is no file of this run's own (choose another directory with -o)");
  }
  const ssize_t written = pwrite(descriptor, &runtime::kRegistered, 1, rank);
  const int error = errno;
  if (close(descriptor) != 0 || written != 1) {
    refuse(directory, std::string(std::strerror(error)) + " (choose another directory with -o)");
  }
}

}  // namespace

RunClaim claim_run(const std::string& output, const std::string& program_name) {
  runtime::JobKey job;
  const bool in_job = runtime::find_job_key(job);
  RunClaim run;
  run.run_id = in_job ? job.id.c_str() : random_id();
  const std::string name = in_job ? run.run_id.substr(0, 12) : time_name();
  std::error_code error;
  run.directory = fs::absolute(output.empty() ? "culprit-" + program_name + "-" + name : output, error);
  if (error)
    throw Failure(kFailure, "output: " + output + ": " + error.message() + " (give an absolute directory)");
  run.directory = run.directory.lexically_normal();
  if (!run.directory.has_filename()) run.directory = run.directory.parent_path();
  claim(run.directory, run.run_id);
  if (in_job) register_rank(run.directory, job.rank);
  return run;
}

}  // namespace culprit::launcher
