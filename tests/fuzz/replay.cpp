#include "merge/replay.hpp"

#include "database/reader.hpp"
#include "exchange/threads.hpp"
#include "merge/merge.hpp"
#include "merge/what_if.hpp"
#include "recording.hpp"
#include "run_files.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

// Whatever the files of a run hold behind right checksums, what can be merged can be read again: its time
// lines give events in the order of time that nest, and it can be replayed with other work.
namespace {

namespace merge = culprit::merge;
namespace database = culprit::database;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "replay: %s\n", what);
  abort();
}

/// Samples and operations lie between.
class NestedEvents final : public merge::LineEvents {
 public:
  void enter(std::uint64_t ns, database::ContextId frame) override { open(ns, frame); }
  void leave(std::uint64_t ns, database::ContextId frame) override { close(ns, frame); }
  void enter_call(std::uint64_t ns, const merge::LineCall& call,
                  std::span<const std::uint64_t> /*arrows*/) override {
    open(ns, call.context);
  }
  void leave_call(std::uint64_t ns, const merge::LineCall& call) override { close(ns, call.context); }
  void begin_wait(std::uint64_t ns, const merge::LineWait& wait) override { open(ns, wait.context); }
  void end_wait(std::uint64_t ns, const merge::LineWait& wait) override { close(ns, wait.context); }

  void finish() const {
    if (!open_.empty()) fail("something is entered and not left");
  }

 private:
  void pass(std::uint64_t ns) {
    if (ns < now_ns_) fail("time runs backwards");
    now_ns_ = ns;
  }
  void open(std::uint64_t ns, database::ContextId context) {
    pass(ns);
    open_.push_back(context);
  }
  void close(std::uint64_t ns, database::ContextId context) {
    pass(ns);
    if (open_.empty() || open_.back() != context) fail("what is left was not entered last");
    open_.pop_back();
  }

  std::uint64_t now_ns_ = 0;
  std::vector<database::ContextId> open_;
};

void read_lines(const merge::ReplayOptions& options) {
  culprit::exchange::run_on_threads(1, [&](culprit::exchange::Communicator& comm) {
    merge::Replay replay(comm, options, {});
    for (std::size_t line = 0; line < replay.lines().size(); ++line) {
      NestedEvents events;
      replay.run(line, events);
      events.finish();
    }
  });
}

void change_work(const merge::Options& options) {
  using Kind = merge::WhatIfChange::Kind;
  const database::Reader reader(options.output);
  const auto contexts = static_cast<database::ContextId>(reader.experiment().contexts.size());
  std::vector<merge::WhatIfQuestion> questions;
  for (const Kind kind : {Kind::remove, Kind::speed_up, Kind::balance, Kind::even_out})
    questions.push_back({.changes = {{.kind = kind, .factor = 2, .where = {{0, contexts}}}}, .ranks = {}});
  try {
    merge::what_if(options, reader.experiment(), questions);
  } catch (const merge::NotReplayable&) {
    return;
  }
}

}  // namespace

FUZZ_MUTATE_BY(fuzz::kRun.format)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Parts files = fuzz::kRun.format.split(fuzz::bytes_of(data, size));
  if (files.empty()) return -1;
  static const recording::Directory directory(recording::scratch());
  const std::filesystem::path run = directory / "run";
  std::filesystem::create_directory(run);
  fuzz::write_run(fuzz::kRun, files, run);
  merge::Options options;
  options.measurement = run;
  options.output = directory / "run.db";
  options.force = true;
  try {
    culprit::exchange::run_on_threads(
        1, [&](culprit::exchange::Communicator& comm) { merge::merge(comm, options, {}); });
  } catch (const std::runtime_error&) {  // fuzz_merge knows which
    return 0;
  }
  read_lines({.measurement = run, .directory = directory.path(), .arrows = true});
  change_work(options);
  return 0;
}
