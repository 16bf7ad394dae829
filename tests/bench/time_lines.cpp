#include "time_lines.hpp"

#include "measurement/live_trace.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace culprit::bench {
namespace {

using namespace measurement;
using trace::Definition;
using trace::OperationKind;
using trace::Record;

bool does(const Record& record, OperationKind kind) {
  return std::ranges::any_of(record.operations,
                             [&](const trace::Operation& operation) { return operation.kind == kind; });
}

/// A communicator or window.
bool makes(const Record& record) {
  return std::ranges::any_of(record.operations, [](const trace::Operation& operation) {
    return operation.made != trace::kNoContext;
  });
}

/// A copy of the run is a part of the world, its communicators but the world are its own.
trace::Context define(LiveTrace& out, const Definition& definition, std::size_t first, std::size_t world,
                      std::size_t ranks) {
  std::vector<std::int32_t> members = definition.members;
  for (std::int32_t& member : members) member += static_cast<std::int32_t>(first);
  trace::NewDefinition made{.kind = definition.kind,
                            .global_id = definition.global_id,
                            .size = definition.size,
                            .rank = definition.rank,
                            .parent = definition.parent};
  if (definition.kind == trace::DefinitionKind::communicator && definition.size == world) {
    made.size = static_cast<std::uint32_t>(ranks);
    made.rank += static_cast<std::int32_t>(first);
    members.clear();
    for (std::size_t rank = 0; rank < ranks && first == 0 && definition.rank == 0; ++rank)
      members.push_back(static_cast<std::int32_t>(rank));
  } else {
    made.global_id += first;
  }
  made.members = members.data();
  made.member_count = members.size();
  return out.define(made);
}

/// Writes a time line.
class Writer {
 public:
  Writer(TraceStream& stream, const std::vector<Definition>& definitions, std::size_t first,
         std::size_t world)
      : stream_(stream), definitions_(definitions), first_(first), world_(world) {}

  void write(const std::vector<Record>& records, std::uint64_t later_ns) {
    for (const Record& record : records) {
      if (record.kind == trace::RecordKind::sample) {
        stream_.sample(record.exit_ns + later_ns, record.exit_ns - record.enter_ns, record.node,
                       static_cast<WaitKind>(record.wait));
      } else if (stream_.begin_call(record.enter_ns + later_ns, record.exit_ns + later_ns, record.node,
                                    record.any)) {
        for (trace::Operation operation : record.operations) {
          if (operation.peer >= 0 && definitions_[operation.context].size == world_)
            operation.peer += static_cast<std::int32_t>(first_);
          stream_.add(operation);
        }
        stream_.end_call();
      }
    }
  }

 private:
  TraceStream& stream_;
  const std::vector<Definition>& definitions_;
  std::size_t first_, world_;
};

}  // namespace

TimeLines::TimeLines(const std::vector<Measurement>& ranks, const std::vector<std::filesystem::path>& paths) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) lines_.push_back(read(ranks[rank], paths[rank]));
  const auto first = std::ranges::min(lines_, {}, &Line::begin_ns).begin_ns;
  period_ns_ = std::ranges::max(lines_, {}, &Line::end_ns).end_ns - first;
  for (const Line& line : lines_) {
    const auto calls =
        static_cast<std::size_t>(std::ranges::count(line.repeated, trace::RecordKind::call, &Record::kind));
    calls_ = calls_ == 0 ? calls : std::min(calls_, calls);
  }
  if (calls_ == 0) throw std::runtime_error("a rank makes no MPI calls");
}

TimeLines::Line TimeLines::read(const Measurement& measurement, const std::filesystem::path& path) {
  const trace::ProcessTrace trace(trace::trace_path(path));
  Line line;
  line.definitions = trace.definitions();
  trace::ThreadRecords in(trace, trace.threads().at(0), measurement.threads.at(0).units);
  std::vector<Record>* part = &line.before;
  for (Record record; in.next(record);) {
    if (record.kind != trace::RecordKind::sample && record.kind != trace::RecordKind::call) continue;
    if (does(record, OperationKind::finalize)) {
      line.end_ns = record.enter_ns;
      part = &line.behind;
    }
    part->push_back(record);
    if (!does(record, OperationKind::initialize) && !makes(record)) continue;
    line.begin_ns = record.exit_ns;
    std::ranges::move(line.repeated, std::back_inserter(line.before));
    line.repeated.clear();
    part = &line.repeated;
  }
  if (line.begin_ns == 0 || line.end_ns == 0)
    throw std::runtime_error(path.string() + ": its trace lacks MPI_Init or MPI_Finalize");
  // Records come by their ends: samples within MPI_Finalize lie before it.
  std::erase_if(line.repeated, [&](const Record& record) { return record.exit_ns > line.end_ns; });
  return line;
}

std::size_t TimeLines::repetitions(std::size_t calls) const {
  return std::max<std::size_t>((calls + calls_ - 1) / calls_, 1);
}

void TimeLines::write(const std::filesystem::path& path, const ProcessInfo& process, std::size_t ranks,
                      std::size_t repetitions) const {
  const auto rank = static_cast<std::size_t>(process.rank.value());
  const std::size_t world = lines_.size();
  const Line& line = lines_[rank % world];
  const std::size_t first = rank - rank % world;
  const auto out = std::make_unique<LiveTrace>();
  int error = out->create(path.c_str(), {.pid = process.pid,
                                         .start_ns = process.start_ns,
                                         .start_realtime_ns = process.start_realtime_ns,
                                         .key = process.key});
  TraceStream* const stream = error == 0 ? out->stream(0, 0) : nullptr;
  if (stream == nullptr) throw std::system_error(error == 0 ? ENOMEM : error, std::generic_category(), path);
  for (const Definition& definition : line.definitions) define(*out, definition, first, world, ranks);
  Writer writer(*stream, line.definitions, first, world);
  writer.write(line.before, 0);
  for (std::size_t i = 0; i < repetitions; ++i) writer.write(line.repeated, i * period_ns_);
  writer.write(line.behind, longer_ns(repetitions));
  out->end(EndReason::exit, process.end_ns);
  error = out->error();
  out->forget();
  if (error != 0) throw std::system_error(error, std::generic_category(), path);
}

}  // namespace culprit::bench
