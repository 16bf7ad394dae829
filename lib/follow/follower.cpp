// A look: list the directory, read what changed of each live file, attribute code that is new, add what each
// context gained. A file is opened at each look, since network file systems show what others wrote at an
// open.
#include "follow/follower.hpp"

#include "follow/words.hpp"
#include "measurement/find.hpp"
#include "print/text.hpp"

#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace culprit::follow {
namespace {

using measurement::LiveWatch;
using measurement::MeasurementError;
using std::chrono::steady_clock;

/// Heartbeats come four times a second, or after each copy.
constexpr std::chrono::milliseconds kSilent{1500};
/// After this silence the follower asks whether processes of this host live; those of others have a file
/// system between us, which may be slow.
constexpr std::chrono::milliseconds kDoubtful = kSilent, kDoubtfulElsewhere{60'000};
/// The share of a processor that asking may take, while others of the run live and where none is known to.
constexpr double kShareAmongLiving = 0.005, kShareInSilence = 0.05;
/// For so long, from one look to another, nothing runs once a run has ended: between two looks of a busy
/// machine files are renamed, and ranks begin.
constexpr std::chrono::seconds kSettled{1};
/// What a process did before it was found counts to the interval if it had just begun.
constexpr double kJust = 0.5;

std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string own_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

double seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

struct Follower::Process {
  explicit Process(LiveWatch found) : watch(std::move(found)) {}

  LiveWatch watch;
  std::vector<std::uint32_t> modules;      ///< in the code, by number in the process
  std::vector<std::vector<Place>> places;  ///< by thread and context
  bool looked = true;                      ///< at this look already
  bool in_interval = false;                ///< what it gained was in the interval
  bool ended = false, gone = false;
  bool died = false;                     ///< as far as was asked; it has written nothing since
  measurement::Schedule before, latest;  ///< of its main thread, as it was seen at two times
  std::uint64_t heartbeat_ns = 0;
  steady_clock::time_point beat = steady_clock::now();  ///< when that was seen first

  [[nodiscard]] std::string name() const {
    return print::spelled(watch.host()) + ":" + std::to_string(watch.process().pid);
  }
  /// Whether it is to be asked whether it lives.
  [[nodiscard]] bool doubtful(const std::string& own_host) const {
    return steady_clock::now() - beat > (watch.host() == own_host ? kDoubtful : kDoubtfulElsewhere);
  }
};

Follower::Follower(std::filesystem::path directory)
    : directory_(std::move(directory)),
      host_(own_host()),
      tree_(code_),
      last_look_(steady_clock::now()),
      job_(std::make_unique<stuck::Job>(directory_)) {}
Follower::~Follower() = default;

void Follower::look() {
  const std::uint64_t begin = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  const steady_clock::time_point time = steady_clock::now();
  interval_s_ = seconds(time - last_look_);
  last_look_ = time;
  problems_.clear();
  tree_.start_interval();
  interval_.clear();
  for (const auto& process : processes_) {
    process->looked = false;
    process->in_interval = true;
  }
  find_processes();
  for (const auto& process : processes_) look_at(*process);
  const std::uint64_t read = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  code_.attribute();
  const std::uint64_t attributed = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i]->watch.lacks_modules() && !processes_[i]->ended) continue;
    place_contexts(*processes_[i]);
    add_gains(i);
  }
  if (!processes_.empty()) ++looks_;
  count_iterations();
  cost_s_ =
      static_cast<double>(read_clock(CLOCK_PROCESS_CPUTIME_ID) - attributed + read - begin) / kNsPerSecond;
  ask_who_lives();
  if (runs() || (processes_.empty() && sealed_.empty())) {
    stands_since_.reset();
  } else if (!stands_since_) {
    stands_since_ = time;
  }
}

void Follower::find_processes() {
  try {
    measurement::for_each_measurement(directory_, [this](const std::filesystem::path& path) { find(path); });
  } catch (const MeasurementError& error) {
    throw std::runtime_error(error.what());
  }
}

void Follower::find(const std::filesystem::path& path) {
  const std::string name = path.string();
  if (by_path_.contains(name) || sealed_.contains(name)) return;
  try {
    LiveWatch watch(name);
    if (!watch.look(scratch_, read_clock(CLOCK_MONOTONIC))) {
      sealed_.insert(name);
      return;
    }
    const auto known = by_key_.find(watch.process().key);
    if (known != by_key_.end()) {  // renamed after its rank
      Process& process = *known->second;
      by_path_.erase(process.watch.path());
      process.watch.set_path(name);
      process.gone = false;
      by_path_[name] = &process;
      return;
    }
    const auto& found = processes_.emplace_back(std::make_unique<Process>(std::move(watch)));
    const measurement::WatchedProcess& process = found->watch.process();
    const double lived =
        static_cast<double>(process.now_ns - std::min(process.now_ns, process.start_ns)) / kNsPerSecond;
    found->in_interval = lived < interval_s_ + kJust;
    by_path_[name] = found.get();
    by_key_[process.key] = found.get();
  } catch (const MeasurementError& error) {
    problems_.push_back(error.path().string() + ": " + error.what());
  }
}

void Follower::look_at(Process& process) {
  if (!process.looked && !process.ended) {
    try {
      const bool here = process.watch.host() == host_;
      if (!process.watch.look(scratch_, here ? read_clock(CLOCK_MONOTONIC) : 0)) {
        process.ended = true;
        by_path_.erase(process.watch.path());  // another process's may be there
      }
      process.gone = false;
    } catch (const MeasurementError& error) {
      std::error_code unknown;
      if (std::filesystem::exists(std::filesystem::symlink_status(process.watch.path(), unknown))) {
        problems_.push_back(error.path().string() + ": " + error.what());
      } else {
        process.ended = process.gone;  // else it is being renamed
        process.gone = true;
      }
    }
  } else if (process.ended) {
    process.watch.forget_gains();
  }
  if (process.watch.process().end != measurement::EndReason::running) process.ended = true;
  if (process.heartbeat_ns != process.watch.process().heartbeat_ns) {
    process.heartbeat_ns = process.watch.process().heartbeat_ns;
    process.beat = steady_clock::now();
    process.died = false;
  }
  for (const measurement::WatchedThread& thread : process.watch.threads()) {
    if (thread.ordinal != 0 || thread.schedule == process.latest) continue;
    process.before = std::exchange(process.latest, thread.schedule);
  }
  const std::vector<measurement::Module>& modules = process.watch.modules();
  for (std::size_t i = process.modules.size(); i < modules.size(); ++i)
    process.modules.push_back(code_.module(modules[i]));
  process.places.resize(process.watch.threads().size());
  for (std::size_t t = 0; t < process.places.size(); ++t) {
    const auto& contexts = process.watch.threads()[t].contexts;
    for (std::size_t i = process.places[t].size(); i < contexts.size(); ++i) {
      const cct::FrameKey& frame = contexts[i].frame;
      if (frame.module < process.modules.size()) code_.want(process.modules[frame.module], frame.offset);
    }
  }
}

void Follower::place_contexts(Process& process) {
  const auto steps_of = [&](const cct::FrameKey& frame) -> std::vector<Step> {
    switch (frame.kind) {
      case cct::FrameKind::root:
        return {};
      case cct::FrameKind::program_root:
        return {{.procedure = code_.name("<program root>")}};
      case cct::FrameKind::thread_root:
        return {{.procedure = code_.name("<thread root>")}};
      case cct::FrameKind::partial:
        return {{.procedure = code_.name("<partial>")}};
      default:
        break;
    }
    if (frame == cct::kGap) return {};
    if (frame.module >= process.modules.size()) return {{.procedure = code_.name("<unknown code>")}};
    const std::span<const Step> steps = code_.steps(process.modules[frame.module], frame.offset);
    return {steps.begin(), steps.end()};
  };
  for (std::size_t t = 0; t < process.places.size(); ++t) {
    const auto& contexts = process.watch.threads()[t].contexts;
    std::vector<Place>& places = process.places[t];
    for (std::size_t i = places.size(); i < contexts.size(); ++i) {
      const Place from = i == 0 ? tree_.root() : places[contexts[i].parent];
      places.push_back(tree_.enter(from, steps_of(contexts[i].frame)));
    }
  }
}

void Follower::add_gains(std::size_t number) {
  const Process& process = *processes_[number];
  for (std::size_t t = 0; t < process.places.size(); ++t) {
    const measurement::WatchedThread& thread = process.watch.threads()[t];
    for (const measurement::Gain& gain : thread.gains) {
      const Place& place = process.places[t][gain.context];
      const Activity activity = activity_of(place, gain);
      const bool main = thread.ordinal == 0;
      tree_.add(place, {.time = gain.time_ns, .wait = activity.wait}, process.in_interval);
      whole_.add(number, main, place.spot, activity);
      if (process.in_interval) interval_.add(number, main, place.spot, activity);
    }
  }
}

/// Those of the lowest rank that runs.
void Follower::count_iterations() {
  const Process* lowest = nullptr;
  for (const auto& process : processes_) {
    if (process->ended || process->died || process->doubtful(host_) || process->watch.process().forked)
      continue;
    const auto rank = [](const Process& each) { return each.watch.process().rank.value_or(INT32_MAX); };
    if (lowest == nullptr || rank(*process) < rank(*lowest)) lowest = process.get();
  }
  if (lowest == nullptr) return;
  if (lowest != counted_) iterations_ = {};
  counted_ = lowest;
  std::vector<CountedCalls> calls;
  for (std::size_t t = 0; t < lowest->places.size(); ++t) {
    for (const measurement::CallCount& count : lowest->watch.threads()[t].calls) {
      if (count.context >= lowest->places[t].size()) continue;  // its module is not known yet
      const Place& place = lowest->places[t][count.context];
      calls.push_back({.node = place.node,
                       .spot = place.spot,
                       .depth = tree_.nodes()[place.node].depth,
                       .calls = count.calls});
    }
  }
  iterations_.look(seconds(last_look_.time_since_epoch()), lowest->watch.process().iterations, calls);
}

/// Whether processes that have been silent for long live. It reads the files of all, so its price decides how
/// often it is asked.
void Follower::ask_who_lives() {
  bool doubtful = false, living = false;
  for (const auto& process : processes_) {
    if (process->ended) continue;
    const bool silent = process->doubtful(host_);
    living = living || !silent;
    doubtful = doubtful || (silent && !process->died);
  }
  if (living) nobody_lives_ = false;
  const steady_clock::time_point now = steady_clock::now();
  const double pause = question_s_ / (living ? kShareAmongLiving : kShareInSilence);
  if (!doubtful || nobody_lives_ || now - asked_ < kDoubtful || seconds(now - asked_) < pause) return;
  asked_ = now;
  const std::uint64_t begin = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  try {
    take_lives(job_->look(false));
    job_->compare_with_last_look();
  } catch (const std::runtime_error&) {
    return;  // the next look says what is wrong with the directory
  }
  question_s_ = static_cast<double>(read_clock(CLOCK_PROCESS_CPUTIME_ID) - begin) / kNsPerSecond;
}

/// Processes have one number before and after an exec: who lives counts.
void Follower::take_lives(const stuck::Picture& picture) {
  nobody_lives_ = picture.over;
  std::map<std::string, bool> died;
  for (const stuck::Process& process : picture.processes) {
    bool& known = died.try_emplace(process.host + ":" + std::to_string(process.pid), true).first->second;
    known = known && process.life == stuck::Life::died;
  }
  for (const auto& process : processes_) {
    const auto known = died.find(process->name());
    process->died = process->doubtful(host_) && known != died.end() && known->second;
  }
}

bool Follower::runs() const {
  return !nobody_lives_ &&
         std::ranges::any_of(processes_, [](const auto& process) { return !process->ended; });
}

bool Follower::ended() const {
  if (!has_measurements()) return false;
  return stands_since_ && last_look_ - *stands_since_ >= kSettled;
}

std::vector<ProcessLabel> Follower::labels() const {
  std::vector<ProcessLabel> labels;
  const steady_clock::time_point now = steady_clock::now();
  for (const auto& process : processes_) {
    const measurement::WatchedProcess& known = process->watch.process();
    labels.push_back({.rank = known.forked ? -1 : known.rank.value_or(-1),
                      .process = process->name(),
                      .key = known.key,
                      .start_ns = known.start_realtime_ns,
                      .ended = process->ended,
                      .died = process->died,
                      .silent = now - process->beat > kSilent,
                      .silent_s = seconds(now - process->beat),
                      .here = process->watch.host() == host_});
  }
  drop_double_ranks(labels);
  return labels;
}

/// Of ranks, where there are any, that have not ended.
std::string Follower::machine(const std::vector<ProcessLabel>& processes, bool lately) const {
  const bool ranks = std::ranges::any_of(processes, [](const ProcessLabel& each) { return each.rank >= 0; });
  std::vector<Scheduling> threads;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Process& process = *processes_[i];
    if ((ranks && processes[i].rank < 0) || process.ended || process.died || !process.latest.known())
      continue;
    const auto gained = [&](std::uint64_t measurement::Schedule::*field) {
      const std::uint64_t before = lately ? process.before.*field : 0;
      return process.latest.*field - std::min(before, process.latest.*field);
    };
    threads.push_back({.rank = processes[i].rank,
                       .host = print::spelled(process.watch.host()),
                       .ran_ns = gained(&measurement::Schedule::ran_ns),
                       .runnable_ns = gained(&measurement::Schedule::runnable_ns),
                       .processors = process.latest.processors,
                       .allowed = process.watch.process().processors});
  }
  return machine_in_words(threads);
}

Summary Follower::summary() {
  const std::uint64_t begin = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  Summary summary;
  for (const auto& process : processes_) {
    const measurement::WatchedProcess& known = process->watch.process();
    if (known.now_ns >
        known.start_ns)  // of a process that falls silent, this goes back to its last heartbeat
      run_s_ = std::max(run_s_, static_cast<double>(known.now_ns - known.start_ns) / kNsPerSecond);
  }
  summary.run_s = run_s_;
  std::vector<ProcessLabel> processes = labels();
  summary.interval = summarize(interval_, processes, tree_, interval_s_, machine(processes, true));
  if (looks_summed_ != looks_) standstill_.look(summary.interval);
  looks_summed_ = looks_;
  summary.standstill = standstill_.in_words(directory_.string());
  for (ProcessLabel& each : processes) each.silent_s = 0;  // is said of the interval
  summary.whole = summarize(whole_, processes, tree_, summary.run_s, machine(processes, false));
  summary.iterations = iterations_.rate();
  if (summary.iterations && summary.iterations->inferred)
    summary.iterations_at = in_words(tree_.spots()[summary.iterations->spot], code_);
  cost_s_ += static_cast<double>(read_clock(CLOCK_PROCESS_CPUTIME_ID) - begin) / kNsPerSecond;
  return summary;
}

}  // namespace culprit::follow
