#pragma once

#include "measurement/live.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

// Measurements for tests, recorded through the runtime's own writer.
namespace recorder {

namespace measurement = culprit::measurement;
namespace cct = culprit::cct;

/// A directory that vanishes with all that it holds.
class Directory {
 public:
  Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory();
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline constexpr std::uint64_t kPeriod = 5'000'000;

struct Who {
  int rank = -1;  ///< -1: no rank
  int world = 0;
  std::string host = "node1";
  std::uint64_t pid = 100;
  std::string run = "cafe";
  std::string program = "/opt/app/bin/app";
  bool traced = false;  ///< says that a trace lies beside the measurement; the test makes one, or not
};

/// A frame of a path: a place in a module of the process.
struct At {
  std::uint32_t module = 0;
  std::uint64_t offset = 0;
};

/// One process while it is measured. Files end unsealed unless seal() is called.
class Process {
 public:
  Process(const std::filesystem::path& file, const Who& who);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  std::uint32_t module(const std::string& path, unsigned flags = 0);
  /// The first thread is the main thread.
  measurement::ThreadTree& thread(cct::FrameKey start_routine = {});
  /// Samples of threads without a tree.
  void lose(std::uint64_t samples) { file_->count_lost(samples); }
  void seal();

 private:
  std::unique_ptr<measurement::LiveFile> file_;
  std::uint64_t threads_ = 0;
  std::uint64_t next_load_address_ = 0x10000;
  bool sealed_ = false;
};

enum class Below : std::uint8_t { program_root, thread_root, partial };

/// Records one sample at the last place of `path`, outermost first; the others are calls.
void sample(measurement::ThreadTree& tree, const std::vector<At>& path, measurement::SampleValues values,
            Below below = Below::program_root);

/// `periods` periods of unmarked time.
measurement::SampleValues work(std::uint64_t periods);
/// The same, marked as waiting.
measurement::SampleValues marked(std::uint64_t periods,
                                 measurement::WaitKind kind = measurement::WaitKind::mpi);

}  // namespace recorder
