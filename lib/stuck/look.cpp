// From measurement files to a picture: handles become what they stand for in all processes, and ranks of
// communicators the world's. Each process has published its own rank in each of its communicators; together
// they are the members.
#include "stuck/look.hpp"

#include "measurement/find.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/measurement.hpp"
#include "measurement/published_calls.hpp"
#include "measurement/runtime_notes.hpp"
#include "print/text.hpp"
#include "stuck/places.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace culprit::stuck {
namespace {

namespace calls = measurement::calls;
using measurement::Measurement;

constexpr std::uint64_t kSecond = 1'000'000'000;
// Heartbeats come four times a second; where the measurement is a copy, after each copy.
constexpr std::uint64_t kSilence = 2 * kSecond;
/// How long before the last of a job's processes another one has to have fallen silent to have died before
/// them. On several hosts clocks differ, and a launcher ends one after the other.
constexpr std::uint64_t kSilenceAtEnd = 5 * kSecond;
constexpr std::uint64_t kSilenceOfHosts = 10 * kSecond;
/// Who has been silent for so long is not waited for.
constexpr double kLongSilence = 60;

std::string own_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

enum class Found : std::uint8_t { no, lives, stopped };

/// A process of this host that runs since before `start_ns` of CLOCK_MONOTONIC; one that started later has
/// its number by chance.
Found find_process(std::uint64_t pid, std::uint64_t start_ns) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return Found::no;
  const std::size_t name = text.rfind(')');  // it may hold anything
  if (name == std::string::npos) return Found::no;
  std::istringstream fields(text.substr(name + 1));
  char state = '\0';
  std::string skipped;
  std::uint64_t ticks = 0;
  constexpr int kBetween = 18;  // fields between the state and when the process started
  fields >> state;
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  if (!(fields >> ticks) || state == 'Z' || state == 'X') return Found::no;
  const auto per_second = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK)));
  const std::uint64_t started = ticks * (kSecond / per_second);  // since the host was started
  const std::uint64_t asleep = read_clock(CLOCK_BOOTTIME) - read_clock(CLOCK_MONOTONIC);
  if (started > start_ns + asleep + kSecond) return Found::no;
  return state == 'T' || state == 't' ? Found::stopped : Found::lives;
}

class Looker {
 public:
  explicit Looker(bool with_paths) : with_paths_(with_paths), host_(own_host()) {}

  /// `earlier`: its heartbeat at the first look, if that was another one.
  void add(const Measurement& measurement, measurement::PublishedCalls calls,
           std::optional<std::uint64_t> earlier);
  Picture take();

 private:
  /// What handles mean in one process.
  struct Handles {
    std::map<std::uint64_t, const calls::Context*> context;
    [[nodiscard]] const calls::Context* find(std::uint64_t handle) const {
      const auto found = context.find(handle);
      return found == context.end() ? nullptr : found->second;
    }
    [[nodiscard]] std::uint64_t id(std::uint64_t handle) const {
      const calls::Context* const found = find(handle);
      return found == nullptr ? 0 : found->id;
    }
  };
  /// A process whose calls still speak of handles.
  struct Raw {
    measurement::PublishedCalls calls;
    Handles handles;
    std::vector<std::size_t> paths;  ///< of threads, then of lock waits; likewise their roles
    std::vector<std::size_t> roles;
    std::uint64_t last_seen_ns = 0;  ///< CLOCK_REALTIME of its host
  };

  /// Those of a context who have one first process, as (rank in it, rank in the world).
  struct Side {
    std::int32_t size = 0;
    std::vector<std::pair<std::int32_t, std::int32_t>> ranks;
  };

  Life life_of(const Measurement& measurement, std::uint64_t heartbeat, double silent_s,
               std::optional<std::uint64_t> earlier);
  void drop_double_ranks();
  void add_memberships(Process& process, const Raw& raw);
  void list_members();
  void judge_end();
  void resolve(Process& process, Raw& raw);
  [[nodiscard]] std::int32_t world_rank(const calls::Context* context, std::int32_t rank) const;
  [[nodiscard]] Call call_of(const Raw& raw, const calls::Call& published) const;
  void add_requests(const Raw& raw, const calls::Call& published, Call& call) const;
  [[nodiscard]] Message message_of(const Raw& raw, const calls::Message& published) const;
  [[nodiscard]] Thread thread_of(const Raw& raw, std::size_t index) const;
  [[nodiscard]] std::string role_of(const measurement::PublishedPlace& place, std::size_t id) const;

  bool with_paths_;
  std::string host_;
  Picture picture_;
  std::vector<std::unique_ptr<Raw>> raw_;                        ///< as the picture's processes
  std::map<std::uint64_t, std::map<std::int32_t, Side>> sides_;  ///< by context and first process
  std::set<std::uint64_t> ambiguous_;                            ///< ids that two contexts of a process have
  /// Of each context its sides' members, by the first one's rank in the world.
  std::map<std::uint64_t, std::map<std::int32_t, std::vector<std::int32_t>>> members_;
  Places places_;
};

/// On this host the kernel shows which processes live, but not those in another PID namespace: for these the
/// heartbeat decides, as on other hosts.
Life Looker::life_of(const Measurement& measurement, std::uint64_t heartbeat, double silent_s,
                     std::optional<std::uint64_t> earlier) {
  const measurement::ProcessInfo& process = measurement.process;
  if (measurement.sealed || process.end != measurement::EndReason::running)
    return measurement::orderly(process.end) ? Life::ended : Life::died;
  const bool beats = earlier && *earlier != heartbeat;
  if (process.host != host_) {
    if (earlier) return beats ? Life::running : Life::silent;
    return silent_s < kLongSilence ? Life::running : Life::silent;
  }
  const Found found = find_process(process.pid, process.start_ns);
  picture_.lives = picture_.lives || found != Found::no;
  if (found != Found::no) return found == Found::stopped ? Life::stopped : Life::running;
  // A heartbeat that is yet to come is one of before the host was started last.
  const std::uint64_t now = read_clock(CLOCK_MONOTONIC);
  const bool fresh = heartbeat <= now && now - heartbeat < kSilence;
  return fresh && (beats || !earlier) ? Life::running : Life::died;
}

namespace {

/// What ended a process that crashed, as its runtime noted it.
std::string crash_of(const measurement::ProcessInfo& process) {
  if (process.end == measurement::EndReason::abort) return measurement::kAbort;
  if (process.end != measurement::EndReason::signal) return {};
  for (const std::string& note : process.notes) {
    if (const std::size_t at = note.find(measurement::kEndedBy); at != std::string::npos)
      return print::spelled(note.substr(at + std::string_view(measurement::kEndedBy).size()));
  }
  return "a signal";
}

}  // namespace

/// What a rank forks says that it is of that rank, and does not stand for it.
void Looker::add(const Measurement& measurement, measurement::PublishedCalls calls,
                 std::optional<std::uint64_t> earlier) {
  const measurement::ProcessInfo& known = measurement.process;
  const std::uint64_t heartbeat = calls.heartbeat_ns;
  auto raw = std::make_unique<Raw>();
  raw->calls = std::move(calls);
  raw->last_seen_ns = static_cast<std::uint64_t>(known.start_realtime_ns) +
                      (std::max(heartbeat, known.end_ns) - known.start_ns);
  Process process;
  process.host = print::spelled(known.host);
  process.pid = known.pid;
  process.rank = known.forked ? -1 : known.rank.value_or(-1);
  process.now_ns = heartbeat;
  process.publishes = raw->calls.there;
  process.all_threads = raw->calls.threads_lost == 0 && raw->calls.threads_gone == 0;
  const bool here = known.host == host_;
  const std::uint64_t now = read_clock(here ? CLOCK_MONOTONIC : CLOCK_REALTIME);
  const std::uint64_t seen = here ? std::max(heartbeat, known.end_ns) : raw->last_seen_ns;
  if (now > seen) process.silent_s = static_cast<double>(now - seen) / static_cast<double>(kSecond);
  process.life = life_of(measurement, heartbeat, process.silent_s, earlier);
  process.crash = crash_of(known);
  process.left = known.end == measurement::EndReason::left;
  picture_.world_size = std::max(picture_.world_size, known.world_size);
  std::vector<cct::ModuleKey> modules;
  for (const measurement::Module& module : measurement.modules) modules.push_back(module.key);
  const auto gather = [&](const measurement::PublishedPlace& place) {
    raw->paths.push_back(places_.add(with_paths_ ? place.frames : std::vector<cct::FrameKey>(), modules));
    raw->roles.push_back(
        places_.add(with_paths_ ? std::vector{place.start_routine} : std::vector<cct::FrameKey>(), modules));
  };
  for (const auto& thread : raw->calls.threads) gather(thread.place);
  for (const auto& wait : raw->calls.lock_waits) gather(wait.place);
  picture_.processes.push_back(std::move(process));
  raw_.push_back(std::move(raw));
}

/// Of several processes with one rank (what it was before an exec, another run), the one that lived last has
/// it.
void Looker::drop_double_ranks() {
  std::map<std::int32_t, std::size_t> owner;
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    if (picture_.processes[i].rank < 0) continue;
    const auto [entry, fresh] = owner.try_emplace(picture_.processes[i].rank, i);
    if (fresh) continue;
    const bool later = raw_[i]->last_seen_ns > raw_[entry->second]->last_seen_ns;
    picture_.processes[later ? entry->second : i].rank = -1;
    if (later) entry->second = i;
  }
}

void Looker::add_memberships(Process& process, const Raw& raw) {
  for (const calls::Context& context : raw.calls.contexts) {
    if (context.id == 0 || process.rank < 0 || context.rank < 0 || context.rank >= context.size ||
        static_cast<std::uint32_t>(context.size) > picture_.world_size)
      continue;
    Membership membership;
    membership.rank = context.rank;
    membership.collectives = context.collectives;
    std::ranges::copy(context.history, membership.history.begin());
    if (!process.contexts.try_emplace(context.id, membership).second) ambiguous_.insert(context.id);
    picture_.contexts[context.id].kind = context.kind;
    Side& side = sides_[context.id][context.first];
    side.size = std::max(side.size, context.size);
    side.ranks.emplace_back(context.rank, process.rank);
  }
}

/// Of contexts whose members are known, or at least a fair part of them: the size is only what a file says.
void Looker::list_members() {
  for (const std::uint64_t id : ambiguous_) {
    sides_.erase(id);
    for (Process& process : picture_.processes) process.contexts.erase(id);
  }
  constexpr std::size_t kPart = 16, kFew = 64;
  for (const auto& [id, sides] : sides_) {
    for (const auto& [first, side] : sides) {
      const bool world = id == kWorldContext && first == 0;
      if (!world && static_cast<std::size_t>(side.size) > kPart * side.ranks.size() + kFew) continue;
      std::vector<std::int32_t>& members = members_[id][first];
      members.assign(static_cast<std::size_t>(side.size), kUnknownRank);
      for (const auto& [rank, in_world] : side.ranks) members[static_cast<std::size_t>(rank)] = in_world;
    }
  }
  std::erase_if(picture_.contexts, [this](const auto& entry) { return !members_.contains(entry.first); });
  for (auto& [id, sides] : members_) {
    Context& context = picture_.contexts[id];
    auto side = sides.begin();
    context.members = side->second;
    if (++side != sides.end() && context.kind == ContextKind::intercommunicator)
      context.others = side->second;
  }
}

/// A process's rank in the world of a rank in one of its contexts; what is no rank stays as it is.
std::int32_t Looker::world_rank(const calls::Context* context, std::int32_t rank) const {
  if (rank < 0) return rank;
  if (context == nullptr) return kUnknownRank;
  const auto sides = members_.find(context->id);
  if (sides == members_.end()) return kUnknownRank;
  for (const auto& [first, members] : sides->second) {
    const bool own = first == context->first;
    if (own == (context->kind == ContextKind::intercommunicator)) continue;
    return static_cast<std::size_t>(rank) < members.size() ? members[static_cast<std::size_t>(rank)]
                                                           : kUnknownRank;
  }
  return kUnknownRank;
}

Message Looker::message_of(const Raw& raw, const calls::Message& published) const {
  const calls::Context* const context = raw.handles.find(published.comm);
  return {.kind = static_cast<CallKind>(published.kind),
          .comm = context == nullptr ? 0 : context->id,
          .peer = world_rank(context, published.peer),
          .tag = published.tag,
          .bytes = published.bytes};
}

/// One of its last operations, by their numbers from 1 on.
const calls::Message& operation(const calls::Call& thread, std::uint64_t number) {
  return thread.message[(number - 1) % calls::kMessages];
}

/// The number of the operation that a thread began last under the handle of a request; 0 where it is none of
/// its last.
std::uint64_t begun_as(const calls::Call& thread, std::uint64_t request) {
  const std::uint64_t noted = thread.messages_noted;
  const std::uint64_t kept = std::min<std::uint64_t>(noted, calls::kMessages);
  for (std::uint64_t number = noted; number > noted - kept; --number) {
    if (operation(thread, number).request == request) return number;
  }
  return 0;
}

/// One on a communicator that is freed can be no other one's.
bool is_message(const calls::Message& message) {
  const auto kind = static_cast<CallKind>(message.kind);
  return (kind == CallKind::send || kind == CallKind::receive) && message.comm != calls::kFreed;
}

/// Handles are used again: where two threads have one, which of them had it last is not known.
void Looker::add_requests(const Raw& raw, const calls::Call& published, Call& call) const {
  std::uint32_t known = 0;
  for (const std::uint64_t request : published.request) {
    if (request == 0) break;
    const calls::Call* by = nullptr;
    std::uint64_t begun = 0;
    int threads = 0;
    for (const auto& thread : raw.calls.threads) {
      const std::uint64_t number = begun_as(thread.call, request);
      if (number == 0) continue;
      by = &thread.call;
      begun = number;
      ++threads;
    }
    if (threads != 1 || !is_message(operation(*by, begun))) continue;
    ++known;
    call.messages.push_back(message_of(raw, operation(*by, begun)));
    call.messages.back().begun = begun;
    call.messages.back().begun_by = by->tid;
  }
  call.others = known < published.requests;
}

calls::Message message_of_call(const calls::Call& published, CallKind kind) {
  const bool other = published.kind == CallKind::exchange && kind == CallKind::receive;
  const std::uint64_t bytes = other ? published.other_bytes : published.bytes;
  return {.request = 0,
          .comm = published.context,
          .peer = other ? published.other_peer : published.peer,
          .tag = other ? published.other_tag : published.tag,
          .kind = static_cast<std::uint32_t>(kind),
          .bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX))};
}

Call Looker::call_of(const Raw& raw, const calls::Call& published) const {
  Call call;
  call.name = print::spelled(published.name);
  call.kind = published.kind;
  call.polls = published.polls;
  const calls::Context* const context = raw.handles.find(published.context);
  call.context = context == nullptr ? 0 : context->id;
  switch (published.kind) {
    case CallKind::send:
      call.messages = {message_of(raw, message_of_call(published, CallKind::send))};
      break;
    case CallKind::receive:
    case CallKind::probe:
      call.messages = {message_of(raw, message_of_call(published, CallKind::receive))};
      break;
    case CallKind::exchange:
      call.messages = {message_of(raw, message_of_call(published, CallKind::send)),
                       message_of(raw, message_of_call(published, CallKind::receive))};
      break;
    case CallKind::all_requests:
    case CallKind::any_request:
      call.one_suffices = published.kind == CallKind::any_request;
      add_requests(raw, published, call);
      break;
    case CallKind::collective:
      call.sequence = published.sequence;
      call.root = published.root;
      break;
    case CallKind::start:
    case CallKind::complete:
    case CallKind::wait:
      if (published.group_size <= calls::kGroup)
        call.group.assign(published.group, published.group + published.group_size);
      break;
    default:
      call.target = world_rank(context, published.peer);
      call.exclusive = published.kind == CallKind::lock && published.other_peer == 1;
      break;
  }
  std::erase_if(call.messages, [](const Message& message) { return message.peer == kNobody; });
  return call;
}

std::string Looker::role_of(const measurement::PublishedPlace& place, std::size_t id) const {
  if (place.ordinal == 0) return "main";
  const std::string routine = places_.procedure_of(id);
  return routine.empty() ? "thread" : routine;
}

Thread Looker::thread_of(const Raw& raw, std::size_t index) const {
  const measurement::PublishedThread& published = raw.calls.threads[index];
  Thread thread;
  thread.tid = published.call.tid;
  thread.ordinal = published.place.ordinal;
  thread.role = role_of(published.place, raw.roles[index]);
  thread.progress = published.progress();
  thread.number = published.call.entered;
  thread.inside = published.inside() && published.whole;
  if (thread.inside) thread.call = call_of(raw, published.call);
  thread.since_ns = published.since();
  thread.asleep = published.place.sleeps_since != 0;
  for (const calls::HeldLock& lock : published.call.lock) {
    if (lock.window == 0) continue;
    const calls::Context* const window = raw.handles.find(lock.window);
    thread.locks.push_back({.window = window == nullptr ? 0 : window->id,
                            .target = world_rank(window, lock.target),
                            .exclusive = lock.exclusive != 0});
  }
  const std::uint64_t noted = published.call.messages_noted;
  const std::uint64_t kept = std::min<std::uint64_t>(noted, calls::kMessages);
  thread.all_messages = kept == noted;
  for (std::uint64_t i = 1; i <= kept; ++i) {
    const std::uint64_t number = noted - kept + i;
    const calls::Message& message = operation(published.call, number);
    if (message.kind == static_cast<std::uint32_t>(CallKind::matched)) {
      thread.last.push_back({.kind = CallKind::receive, .comm = 0, .peer = kAnySource, .tag = kAnyTag});
    } else if (is_message(message)) {
      thread.last.push_back(message_of(raw, message));
    } else {
      continue;
    }
    thread.last.back().begun = number;
  }
  thread.path = places_.path(raw.paths[index]);
  return thread;
}

void Looker::resolve(Process& process, Raw& raw) {
  std::uint64_t latest = 0;
  for (std::size_t i = 0; i < raw.calls.threads.size(); ++i) {
    process.threads.push_back(thread_of(raw, i));
    const std::uint64_t seen = raw.calls.threads[i].call.sampled;
    if (process.crash.empty() || seen <= latest) continue;
    latest = seen;
    process.crashed = static_cast<int>(i);
  }
  std::ranges::stable_sort(process.threads, {}, &Thread::ordinal);
  for (std::size_t i = 0; i < raw.calls.lock_waits.size(); ++i) {
    const measurement::PublishedLockWait& published = raw.calls.lock_waits[i];
    const std::size_t index = raw.calls.threads.size() + i;
    process.lock_waits.push_back({.tid = published.wait.thread,
                                  .lock = published.wait.lock,
                                  .owner = published.wait.owner,
                                  .number = published.wait.changes,
                                  .since_ns = published.wait.since,
                                  .ordinal = published.place.ordinal,
                                  .role = role_of(published.place, raw.roles[index]),
                                  .path = places_.path(raw.paths[index])});
  }
}

/// Where nobody lives any more, those that lived to the last are shown as they were then.
void Looker::judge_end() {
  if (picture_.processes.empty()) return;  // nothing is known of it
  const auto lives = [](const Process& process) {
    return process.life == Life::running || process.life == Life::stopped;
  };
  if (std::ranges::any_of(picture_.processes, lives)) return;
  picture_.over = true;
  std::uint64_t last = 0;
  for (const auto& raw : raw_) last = std::max(last, raw->last_seen_ns);
  const auto other_host = [this](const Process& process) {
    return process.host != picture_.processes.front().host;
  };
  const std::uint64_t apart =
      std::ranges::any_of(picture_.processes, other_host) ? kSilenceOfHosts : kSilenceAtEnd;
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    Process& process = picture_.processes[i];
    if (process.life == Life::ended || !process.crash.empty()) continue;
    const std::uint64_t before = last - raw_[i]->last_seen_ns;
    process.silent_s = static_cast<double>(before) / static_cast<double>(kSecond);
    process.life = before < apart ? Life::running : Life::died;
  }
}

Picture Looker::take() {
  judge_end();
  drop_double_ranks();
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    for (const calls::Context& context : raw_[i]->calls.contexts)
      raw_[i]->handles.context[context.handle] = &context;
    add_memberships(picture_.processes[i], *raw_[i]);
  }
  list_members();
  places_.attribute();
  for (std::size_t i = 0; i < raw_.size(); ++i) resolve(picture_.processes[i], *raw_[i]);
  std::ranges::stable_sort(picture_.processes, [](const Process& a, const Process& b) {
    const auto order = [](const Process& process) { return static_cast<std::uint32_t>(process.rank); };
    return order(a) < order(b);
  });
  return std::move(picture_);
}

}  // namespace

Picture Job::look(bool with_paths) {
  Looker looker(with_paths);
  problems_.clear();
  newest_.clear();
  measurement::Reader reader;
  const auto read = [&](const std::filesystem::path& path) {
    try {
      const Measurement& measurement = reader.read(path.string(), measurement::Extent::process);
      measurement::PublishedCalls calls;
      if (!measurement.sealed)
        calls = measurement::read_published_calls(path.string(), measurement.modules.size());
      const std::uint64_t heartbeat = calls.heartbeat_ns;
      newest_[path.string()] = heartbeat;
      const auto [first, fresh] = heartbeats_.try_emplace(path.string(), heartbeat);
      looker.add(measurement, std::move(calls), fresh ? std::nullopt : std::optional(first->second));
    } catch (const measurement::MeasurementError& error) {
      std::error_code unknown;  // renamed after its rank since the directory was listed
      if (std::filesystem::exists(std::filesystem::symlink_status(path, unknown)))
        problems_.push_back(error.path().string() + ": " + error.what());
    }
  };
  try {
    measurement::for_each_measurement(directory_, read);
  } catch (const measurement::MeasurementError& error) {
    throw std::runtime_error(error.what());
  }
  Picture picture = looker.take();
  picture.unread = problems_.size();
  return picture;
}

}  // namespace culprit::stuck
