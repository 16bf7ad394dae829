#pragma once

#include "trace_recording.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The files of a small run of MPI, for what reads whole runs.
namespace recording {

inline constexpr const char* kOddName = "/tmp/\x1b]0;title\a\x1b[2J\n\xe2\x80\xae\xff/app";

/// One of two ranks while it is measured.
class Rank {
 public:
  /// With `odd`, its names hold what nobody expects in one. Without `mpi`, it is a process that is no rank.
  Rank(const std::filesystem::path& directory, int rank, bool odd, bool mpi = true)
      : path_(directory / ("rank-" + std::to_string(rank) + ".culprit")), description_(process(2)) {
    description_.pid += static_cast<std::uint64_t>(rank);
    description_.key += static_cast<std::uint64_t>(rank);
    if (odd) description_.program = description_.directory = description_.host = kOddName;
    file_ = std::make_unique<File>(path_, description_);
    if (mpi) (*file_)->set_rank(rank, 2, "0123", odd ? kOddName : "MPI");
    app_ = (*file_)->module(0x1000, odd ? kOddName : "/no/such/app", "id", 2,
                            measurement::LiveFile::kModuleExecutable);
    mpi_ = (*file_)->module(0x2000, "/no/such/libmpi.so", nullptr, 0, 0);
    const std::uint32_t python = (*file_)->module(0x3000, "3\tSolver.step\tsolve.py", nullptr, 0, 0);
    tree_ = (*file_)->add_thread(0, true, {}, kStart);
    trace_->create(trace_path().c_str(), {.pid = description_.pid,
                                          .start_ns = description_.start_ns,
                                          .start_realtime_ns = description_.start_realtime_ns,
                                          .key = description_.key});
    stream_ = trace_->stream(0, 0);
    for (std::uint64_t i = 0; i < kPlaces; ++i) {
      const auto solve = insert(*tree_, {call(1, app_), call(2 + i, app_)});
      const cct::FrameKey line{.offset = 4 + i, .module = python, .kind = cct::FrameKind::region};
      work_.push_back(tree_->child(tree_->child(solve, line), recording::sample(0x10 + i, app_)));
      call_.push_back(tree_->child(solve, recording::sample(i, mpi_)));
    }
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { trace_->forget(); }

  void define(const trace::Definition& definition) {
    trace_->define({.kind = definition.kind,
                    .global_id = definition.global_id,
                    .size = definition.size,
                    .rank = definition.rank,
                    .parent = definition.parent,
                    .members = definition.members.data(),
                    .member_count = definition.members.size(),
                    .remote = definition.remote.data(),
                    .remote_count = definition.remote.size(),
                    .sources = definition.sources.data(),
                    .source_count = definition.sources.size(),
                    .destinations = definition.destinations.data(),
                    .destination_count = definition.destinations.size()});
  }
  void add_clocks(const trace::ClockPair& pair) { trace_->add_clocks(pair); }

  /// A record of the time line, at its node's place in this tree; a call is sampled, too, and so is what lies
  /// before it.
  void add(trace::Record record) {
    const std::size_t place = record.node % kPlaces;
    if (record.kind == trace::RecordKind::call) {
      if (record.enter_ns > last_ns_ + kGrain)
        stream_->sample(record.enter_ns - 1, record.enter_ns - 1 - last_ns_, work_[place],
                        measurement::WaitKind::none);
      tree_->record(work_[place], values(record.enter_ns - std::min(record.enter_ns, last_ns_) + 1));
      tree_->record(
          call_[place],
          {.time_ns = record.exit_ns - record.enter_ns + 1, .weight = 1, .mark = measurement::WaitKind::mpi});
      last_ns_ = record.exit_ns;
    }
    record.node = record.kind == trace::RecordKind::call ? call_[place] : work_[place];
    write(*stream_, record);
  }

  /// Its files are those of a process that was killed.
  void leave() { trace_->maintain(); }
  /// Its files are those of a clean end.
  void seal() {
    const std::uint64_t end_ns = last_ns_ + kGrain;
    trace_->end(measurement::EndReason::exit, end_ns);
    if ((*file_)->seal(measurement::EndReason::exit, end_ns) != 0) throw std::runtime_error("not sealed");
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path trace_path() const { return trace::trace_path(path_); }

 private:
  static constexpr std::size_t kPlaces = 4;
  static constexpr std::uint64_t kGrain = 1000;

  std::filesystem::path path_;
  measurement::ProcessDescription description_;
  std::unique_ptr<File> file_;
  std::unique_ptr<measurement::LiveTrace> trace_ = std::make_unique<measurement::LiveTrace>();
  std::uint32_t app_ = 0, mpi_ = 0;
  measurement::ThreadTree* tree_ = nullptr;
  measurement::TraceStream* stream_ = nullptr;
  std::vector<measurement::NodeIndex> work_, call_;
  std::uint64_t last_ns_ = kStart;
};

}  // namespace recording
