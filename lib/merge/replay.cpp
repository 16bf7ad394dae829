// Reads a measurement's time lines again, for exports: the first pass of merging, then the matching pass
// (docs/algorithms.md 7), then each line once more, in the order of time (merge/timelines/line_replay.cpp).
// Cost: that of merging without values, and a second reading of the traces. Memory is the matching pass's;
// what it found lies in a Spill.
#include "merge/replay.hpp"

#include "merge/first_pass.hpp"
#include "merge/input/lost_files.hpp"
#include "merge/timelines/line_replay.hpp"
#include "merge/timelines/time_lines.hpp"
#include "merge/values/partition.hpp"
#include "waits/clocks/causal_order.hpp"
#include "waits/timeline/rank_map.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace culprit::merge {
namespace {

namespace trace = measurement::trace;

/// All readable files: those that are lost meanwhile are left out.
Survey survey_all(exchange::Communicator& comm, const Options& options, const Progress& progress,
                  Provenance& provenance) {
  Lost lost;
  for (;;) {
    try {
      provenance = {};
      return survey_rest(comm, options, lost, progress, provenance);
    } catch (const FilesLost& found) {
      for (const LostFile& file : found.files) lost.emplace(file.path, file.why);
    }
  }
}

Options merging_options(const ReplayOptions& options) {
  Options merging;
  merging.measurement = options.measurement;
  merging.output = options.directory / "export";  // spills go beside it; nothing of that name is made
  merging.loops = options.loops;
  merging.structure_cache = options.structure_cache;
  return merging;
}

}  // namespace

struct Replay::State {
  State(exchange::Communicator& comm, const ReplayOptions& options, const Progress& progress)
      : merging(merging_options(options)),
        survey(survey_all(comm, merging, progress, provenance)),
        code(recover_code(comm, merging, IdleRules::built_in(), survey, progress)),
        frames(code.shape),
        partition(comm, survey.processes, code.roles),
        opened(open_time_lines(comm, partition, survey.shared, code.shape)),
        rank_map(comm, opened.processes) {
    const Phase matching(comm, progress, "time lines", 1);
    waits::MatchingOptions matching_options;
    matching_options.spill = {
        .directory = options.directory, .purpose = "read time lines", .memory = waits::usual_memory(1)};
    read.emplace(waits::read_in_causal_order(comm, rank_map, opened.processes, {}, matching_options));
    add_lines();
    add_others();
    find_groups();
    if (options.arrows) arrows.emplace(store());
  }

  [[nodiscard]] waits::TraceStore& store() { return read->matched.store; }

  struct Line {
    std::size_t process = 0, thread = 0;
    bool read = true;  // since its process was at its beginning
  };

  void add_lines() {
    std::map<std::int32_t, ReplayedLine> first;
    for (const ProcessSummary& process : survey.processes) {
      // What a rank forked does not stand for the rank.
      if (process.rank && !process.forked)
        first.try_emplace(*process.rank,
                          ReplayedLine{.location = locations, .rank = *process.rank, .pid = process.pid});
      locations += static_cast<std::uint32_t>(process.threads.size());
    }
    std::map<std::int32_t, std::size_t> process_of;
    for (std::size_t i = 0; i < opened.processes.size(); ++i)
      process_of.try_emplace(opened.processes[i]->rank(), i);
    for (const waits::TimeLine& line : store().lines()) {
      const std::int32_t rank = rank_map.rank_of(line.location);
      const std::size_t thread = line.location - rank_map.location_of(rank, 0);
      ReplayedLine replayed = first.at(rank);
      replayed.location += static_cast<std::uint32_t>(thread);
      lines.push_back(replayed);
      places.push_back({.process = process_of.at(rank), .thread = thread});
    }
  }

  /// Processes that are no rank: nothing of theirs is matched.
  void add_others() {
    std::uint32_t location = 0;
    OtherTimeLines others(survey.shared, code.shape);
    waits::Location next = rank_map.locations();
    for (const ProcessSummary& process : survey.processes) {
      const std::size_t before = opened.processes.size();
      if (process.trace_bytes != 0) others.open(process.path, process.threads.size(), opened);
      for (std::size_t i = before; i < opened.processes.size(); ++i) {
        for (std::size_t thread = 0; thread < opened.processes[i]->threads(); ++thread) {
          store().open(next++);
          lines.push_back(
              {.location = location + static_cast<std::uint32_t>(thread), .rank = -1, .pid = process.pid});
          places.push_back({.process = i, .thread = thread});
        }
      }
      location += static_cast<std::uint32_t>(process.threads.size());
    }
  }

  void find_groups() {
    const waits::Contexts& contexts = *read->matched.contexts;
    groups.resize(contexts.size());
    for (std::uint32_t i = 0; i < contexts.size(); ++i) {
      groups[i].global_id = contexts.shared(i).global_id;
      const waits::RankList& members = contexts.shared(i).members;
      for (std::uint32_t rank = 0; rank < members.size(); ++rank)
        groups[i].members.push_back(members.at(static_cast<std::int32_t>(rank)).value_or(trace::kNobody));
    }
    for (std::size_t process = 0; process < opened.processes.size(); ++process) {
      if (opened.processes[process]->rank() < 0) continue;  // they come last, and were not matched
      const auto& definitions = opened.processes[process]->definitions();
      for (trace::Context i = 0; i < definitions.size(); ++i) describe_group(process, i, definitions[i]);
    }
  }

  void describe_group(std::size_t process, trace::Context context, const trace::Definition& definition) {
    const waits::View& view = read->matched.contexts->view(process, context);
    if (view.shared == waits::View::kUnknown) return;
    MessageGroup& group = groups[view.shared];
    group.kind = definition.kind;
    if (definition.kind == trace::DefinitionKind::window) {
      const std::uint32_t parent = read->matched.contexts->view(process, definition.parent).shared;
      if (parent != waits::View::kUnknown) group.parent = parent;
    }
    if (definition.kind != trace::DefinitionKind::intercommunicator || !group.remote.empty()) return;
    group.members = definition.members;
    group.remote = definition.remote;
  }

  Options merging;
  Provenance provenance;
  Survey survey;
  SampledCode code;
  FrameTree frames;
  Partition partition;
  TimeLines opened;
  waits::RankMap rank_map;
  std::optional<waits::CausallyMatched> read;
  std::uint32_t locations = 0;
  std::vector<ReplayedLine> lines;
  std::vector<Line> places;
  std::vector<MessageGroup> groups;
  std::optional<Arrows> arrows;
};

Replay::Replay(exchange::Communicator& comm, const ReplayOptions& options, const Progress& progress)
    : state_(std::make_unique<State>(comm, options, progress)) {}

Replay::~Replay() = default;

std::string Replay::run_id() const {
  // As the database has it: of the first process that has one.
  for (const auto& launch : state_->survey.processes.launches()) {
    if (!launch->run_id.empty()) return launch->run_id;
  }
  return {};
}

Moment Replay::start() const {
  const ProcessTable::Iterator first = state_->survey.processes.begin();  // holds what it points to
  return {.ns = (*first).start_ns, .realtime_ns = (*first).start_realtime_ns};
}

const files::Readership& Replay::readers() const {
  return state_->provenance.readership;
}

std::uint32_t Replay::locations() const {
  return state_->locations;
}

const std::vector<database::Context>& Replay::contexts() const {
  return state_->code.attribution.contexts;
}

const std::vector<std::string>& Replay::strings() const {
  return state_->code.attribution.strings;
}

const std::vector<ReplayedLine>& Replay::lines() const {
  return state_->lines;
}

const std::vector<MessageGroup>& Replay::groups() const {
  return state_->groups;
}

std::optional<std::size_t> Replay::group_of(std::size_t line, trace::Context context) const {
  if (state_->lines[line].rank < 0) return std::nullopt;
  const waits::View& view = state_->read->matched.contexts->view(state_->places[line].process, context);
  if (view.shared == waits::View::kUnknown) return std::nullopt;
  return view.shared;
}

std::vector<std::int32_t> Replay::members_of(std::size_t line, trace::Context context) const {
  const auto& definitions = state_->opened.processes[state_->places[line].process]->definitions();
  return context < definitions.size() ? definitions[context].members : std::vector<std::int32_t>{};
}

std::uint64_t Replay::calls() const {
  std::uint64_t sum = 0;
  for (const waits::TimeLine& line : state_->store().lines()) sum += line.events.size();
  return sum;
}

std::uint64_t Replay::waits() const {
  std::uint64_t sum = 0;
  for (const waits::TimeLine& line : state_->store().lines()) sum += line.waits.size();
  return sum;
}

void Replay::run(std::size_t line, LineEvents& events) {
  const State::Line place = state_->places[line];
  waits::ProcessTrace& process = *state_->opened.processes[place.process];
  if (place.read) {
    (void)process.rewind({});
    for (State::Line& other : state_->places) {
      if (other.process == place.process) other.read = false;
    }
  }
  state_->places[line].read = true;
  LineReplay(state_->frames, state_->store(), line, state_->arrows ? &*state_->arrows : nullptr)
      .run(process, place.thread, events);
}

std::vector<std::string> Replay::problems() const {
  std::vector<std::string> lines = state_->survey.problems;
  const TimeLines& opened = state_->opened;
  lines.insert(lines.end(), opened.problems.begin(), opened.problems.end());
  for (const auto& [file, why] : *opened.broken_off)
    lines.emplace_back(file).append(": ").append(why).append("; what lies before the damage is used");
  return lines;
}

const std::vector<std::string>& Replay::unused() const {
  return state_->opened.problems;
}

std::uint64_t Replay::stopped() const {
  return state_->opened.stopped;
}

}  // namespace culprit::merge
