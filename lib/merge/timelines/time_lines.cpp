// Opens the traces of a rank's processes and gives their records the run's terms while they are read: nodes
// become contexts of the united tree, events get their numbers in the run, regions the scope that they stand
// for, and times are brought to one clock (docs/algorithms.md 11). A sample of a wait for threads is divided,
// and charged to what other threads of its process did meanwhile (12.1). A trace that breaks off is used up
// to the damage. Cost: a table look-up per record; before that, the trees of the measurement are read once
// more.
#include "merge/timelines/time_lines.hpp"

#include "cct/tree_union.hpp"
#include "measurement/measurement.hpp"
#include "measurement/trace.hpp"
#include "merge/input/own_frames.hpp"
#include "merge/timelines/host_clocks.hpp"
#include "merge/timelines/thread_waits.hpp"
#include "waits/clocks/causal_order.hpp"
#include "waits/timeline/thread_lines.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace culprit::merge {
namespace {

namespace trace = measurement::trace;
using database::ContextId;

constexpr std::uint8_t kUnknownEvent = 255;

void require_own(const trace::ProcessTrace& trace, const measurement::ProcessInfo& process) {
  if (trace.is_of(process)) return;
  throw measurement::MeasurementError(
      trace.path(), "is the trace of another process than the measurement beside it (put it beside its own)");
}

void report_unused(const measurement::MeasurementError& error, const std::string& path, TimeLines& to) {
  to.problems.push_back(path + ": " + error.what() + "; this time line is not used");
}

class TracedProcess final : public waits::ProcessTrace {
 public:
  /// What its records name, in the run's terms.
  struct Names {
    std::vector<NamedNodes> nodes;     // by thread
    std::vector<std::uint8_t> events;  // their numbers in the run
  };

  TracedProcess(const measurement::ProcessInfo& process, const std::string& path, Names names,
                const Shape& shape, std::shared_ptr<RegionPaths> regions,
                std::map<std::string, std::string>& broken_off)
      : rank_(process.rank.value_or(-1)),
        trace_(path),
        broken_off_(broken_off),
        clock_(trace_.clocks()),
        nodes_(std::move(names.nodes)),
        events_(std::move(names.events)),
        shape_(shape),
        regions_(std::move(regions)) {
    require_own(trace_, process);
    begin();
  }

  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<trace::Definition>& definitions() const override {
    return trace_.definitions();
  }
  [[nodiscard]] std::size_t threads() const override { return records_.size(); }
  [[nodiscard]] unsigned halvings(std::size_t thread) const override { return nodes_[thread].halvings; }

  bool next(std::size_t thread, trace::Record& record) override {
    if (take_part(thread, record)) return true;
    do {
      if (!read_next(thread, record)) return false;
    } while (comes_too_early(thread, record));
    record.node = nodes_[thread].context_of(record.node);
    record.charged = trace::Record::kItself;
    if (record.kind == trace::RecordKind::marked_region) {
      record.node = regions_->marked_around(record.node);
    } else if (record.kind == trace::RecordKind::parallel_region) {
      record.charged = regions_->library_for(record.node);
      record.node = regions_->run_for(record.node);
    }
    if (record.kind == trace::RecordKind::call) left_ns_[thread] = record.exit_ns;
    if (record.kind == trace::RecordKind::sample)
      record.wait = static_cast<std::uint8_t>(thread_waits_->waits_for_threads(record));
    // Of threads that do not call MPI no gaps between calls are compared.
    if (record.kind == trace::RecordKind::sample && rank_ >= 0 && left_ns_[thread] != 0) {
      divide(thread, record);
      return take_part(thread, record);
    }
    correct_times(record);
    if (record.kind == trace::RecordKind::thread_wait) correct_holder(record.holder);
    if (record.kind == trace::RecordKind::reading)
      record.event = record.event < events_.size() ? events_[record.event] : kUnknownEvent;
    return true;
  }

  bool rewind(std::span<const waits::ClockViolation> violations) override {
    pushed_.add(violations);
    begin();
    return true;
  }

  [[nodiscard]] bool stopped() const { return trace_.stopped_ns() != 0; }
  [[nodiscard]] std::span<const trace::ClockPair> clocks() const { return trace_.clocks(); }
  /// Moves all times later by `ns`: to another host's clock.
  void move(std::int64_t ns) { clock_ = waits::ClockCorrection::later_by(ns); }

 private:
  bool read_next(std::size_t thread, trace::Record& record) {
    if (records_[thread] == nullptr) return false;
    try {
      return records_[thread]->next(record);
    } catch (const measurement::MeasurementError& error) {
      broken_off_.try_emplace(trace_.path(), error.what());
      records_[thread].reset();  // what was read before it is good
      return false;
    }
  }

  /// Regions and waits of a rank's main thread before its first call: its time line begins with that.
  [[nodiscard]] bool comes_too_early(std::size_t thread, const trace::Record& record) const {
    return thread == 0 && rank_ >= 0 && left_ns_[0] == 0 && record.kind >= trace::RecordKind::thread_wait;
  }

  /// A sample, and what is left of the time that it stands for.
  struct Divided {
    trace::Record sample;
    std::vector<ThreadWaits::Part> parts;  // the latest first
  };

  void divide(std::size_t thread, const trace::Record& sample) {
    const auto parts = thread_waits_->charged(thread, sample, left_ns_[thread]);
    divided_[thread].sample = sample;
    divided_[thread].parts.assign(parts.rbegin(), parts.rend());
  }

  bool take_part(std::size_t thread, trace::Record& record) {
    Divided& divided = divided_[thread];
    if (divided.parts.empty()) return false;
    const ThreadWaits::Part part = divided.parts.back();
    divided.parts.pop_back();
    record = divided.sample;
    record.exit_ns = divided.sample.enter_ns = part.until_ns;
    record.charged = part.charged;
    correct_times(record);
    return true;
  }

  void correct_times(trace::Record& record) {
    record.enter_ns = pushed_(clock_(record.enter_ns));
    record.exit_ns = pushed_(clock_(record.exit_ns));
  }

  void correct_holder(measurement::WaitHolder& holder) const {
    const auto thread = std::ranges::find(nodes_, holder.thread, &NamedNodes::ordinal);
    if (thread == nodes_.end()) {
      holder = {};
      return;
    }
    holder = {.thread = static_cast<std::uint32_t>(thread - nodes_.begin()),
              .released_ns = pushed_(clock_(holder.released_ns))};
  }

  void begin() {
    records_.clear();
    left_ns_.assign(nodes_.size(), 0);
    divided_.assign(nodes_.size(), {});
    thread_waits_.emplace(trace_, nodes_, shape_, *regions_);
    for (const NamedNodes& thread : nodes_) records_.push_back(thread.records_in(trace_));
  }

  std::int32_t rank_;
  trace::ProcessTrace trace_;
  std::map<std::string, std::string>& broken_off_;
  waits::ClockCorrection clock_;
  waits::PushForward pushed_;
  std::vector<NamedNodes> nodes_;
  std::vector<std::uint8_t> events_;  // their numbers in the run
  const Shape& shape_;
  std::shared_ptr<RegionPaths> regions_;  // of all processes
  std::vector<std::unique_ptr<trace::ThreadRecords>> records_;
  // By thread, as far as it was read:
  std::vector<std::uint64_t> left_ns_;  // the last MPI call; 0: there was none
  std::vector<Divided> divided_;
  std::optional<ThreadWaits> thread_waits_;
};

/// Opens one process after the other.
class Opening {
 public:
  Opening(const cct::SharedTree& shared, const Shape& shape)
      : shape_(shape), regions_(std::make_shared<RegionPaths>(shape)) {
    tree_.unite(shared);
  }

  /// Adds the process to `to`, unless it is none of those that are asked for.
  void open(const std::string& measured, std::size_t threads, bool ranks, TimeLines& to,
            std::vector<ProcessClock>& clocks) {
    const std::string path = trace::trace_path(measured).string();
    if (!std::filesystem::exists(path)) return;
    try {
      measurement::Measurement& file = reader_.read(measured);
      // Nobody can have waited for others in MPI; and what a rank forked must not stand for the rank.
      const bool is_rank = file.process.rank.has_value() && !file.process.forked;
      if (is_rank != ranks) return;
      if (!is_rank) file.process.rank.reset();
      drop_own_frames(file);
      auto process = std::make_unique<TracedProcess>(
          file.process, path,
          TracedProcess::Names{.nodes = name_nodes(file, threads), .events = number_events(file.process)},
          shape_, regions_, *to.broken_off);
      if (process->stopped()) ++to.stopped;
      ProcessClock& clock = clocks.emplace_back(file.process.host, process->rank(), process->clocks());
      clock.move = [traced = process.get()](std::int64_t ns) { traced->move(ns); };
      to.processes.push_back(std::move(process));
    } catch (const measurement::MeasurementError& error) {
      report_unused(error, path, to);
    }
  }

 private:
  /// Of a process's events beside REALTIME, their places among the run's.
  [[nodiscard]] std::vector<std::uint8_t> number_events(const measurement::ProcessInfo& process) const {
    const std::vector<std::string>& names = shape_.columns.events;
    std::vector<std::uint8_t> numbers;
    for (std::size_t e = process.has_realtime ? 1 : 0; e < process.events.size(); ++e) {
      const auto place = std::ranges::lower_bound(names, process.events[e].name) - names.begin();
      numbers.push_back(static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(place, kUnknownEvent)));
    }
    return numbers;
  }
  std::vector<NamedNodes> name_nodes(measurement::Measurement& file, std::size_t threads) {
    const std::span<const cct::ModuleId> modules = modules_.of(file, tree_);
    std::vector<NamedNodes> named(threads);
    for (std::size_t t = 0; t < threads && t < file.threads.size(); ++t) {
      measurement::ThreadProfile& thread = file.threads[t];
      named[t].ordinal = thread.ordinal;
      named[t].halvings = static_cast<unsigned>(thread.quality.most_halvings);
      named[t].units = std::move(thread.units);
      if (thread.nodes.empty()) continue;
      for (const cct::NodeId node : tree_.unite(thread.nodes, modules)) {
        named[t].contexts.push_back(node < shape_.own.size() ? shape_.own[node] : 0);
      }
    }
    return named;
  }

  const Shape& shape_;
  std::shared_ptr<RegionPaths> regions_;
  cct::TreeUnion tree_;
  FileModules modules_;
  measurement::Reader reader_;
};

/// What is wrong with the first record that is; empty where nothing is.
std::string damage_in_records(const trace::ProcessTrace& trace) {
  try {
    trace::Record record;
    for (const trace::ProcessTrace::Thread& thread : trace.threads()) {
      trace::ThreadRecords records(trace, thread, {});
      while (records.next(record)) {
      }
    }
    return {};
  } catch (const measurement::MeasurementError& error) {
    return error.what();
  }
}

}  // namespace

TimeLines open_time_lines(exchange::Communicator& comm, const Partition& partition,
                          const cct::SharedTree& shared, const Shape& shape) {
  TimeLines lines;
  std::vector<ProcessClock> clocks;
  if (partition.traced()) {
    Opening opening(shared, shape);
    partition.for_each_traced([&](const TracedFile& file) {
      if (file.of_rank) opening.open(file.path, file.threads, true, lines, clocks);
    });
  }
  lines.clock_error_ns = bring_to_one_clock(comm, clocks);
  return lines;
}

TimeLines open_thread_lines(const Partition& partition, const cct::SharedTree& shared, const Shape& shape) {
  TimeLines lines;
  lines.of_threads = true;
  std::vector<ProcessClock> clocks;
  Opening opening(shared, shape);
  partition.for_each_traced(
      [&](const TracedFile& file) { opening.open(file.path, file.threads, false, lines, clocks); });
  if (lines.processes.empty()) return lines;
  lines.processes = waits::thread_lines(
      std::move(lines.processes.front()),
      [regions = std::make_shared<RegionPaths>(shape)](ContextId region, ContextId worker) {
        const auto beside = regions->beside(region, worker);
        return beside ? beside->context : worker;
      });
  return lines;
}

void check_other_time_lines(const Partition& partition, TimeLines& lines) {
  measurement::Reader reader;
  partition.for_each_traced([&](const TracedFile& file) {
    if (file.of_rank) return;
    const std::string path = trace::trace_path(file.path).string();
    try {
      const trace::ProcessTrace trace(path);
      require_own(trace, reader.read(file.path, measurement::Extent::process).process);
      if (const std::string damage = damage_in_records(trace); !damage.empty())
        lines.broken_off->try_emplace(path, damage);
    } catch (const measurement::MeasurementError& error) {
      report_unused(error, path, lines);
    }
  });
}

struct OtherTimeLines::State {
  State(const cct::SharedTree& shared, const Shape& shape) : opening(shared, shape) {}
  Opening opening;
  std::vector<ProcessClock> clocks;  // of none that took part in a comparison
};

OtherTimeLines::OtherTimeLines(const cct::SharedTree& shared, const Shape& shape)
    : state_(std::make_unique<State>(shared, shape)) {}

OtherTimeLines::~OtherTimeLines() = default;

void OtherTimeLines::open(const std::string& measured, std::size_t threads, TimeLines& to) {
  state_->opening.open(measured, threads, false, to, state_->clocks);
}

}  // namespace culprit::merge
