// From measurement files to a picture: handles become what they stand for in all processes, and ranks of
// communicators the world's. Each process has published its own rank in each of its communicators; together
// they are the members.
#include "stuck/look.hpp"

#include "measurement/find.hpp"
#include "measurement/kinds.hpp"
#include "measurement/limits.hpp"
#include "measurement/measurement.hpp"
#include "measurement/published_calls.hpp"
#include "print/text.hpp"
#include "stuck/places.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace culprit::stuck {
namespace {

namespace calls = measurement::calls;
using measurement::Measurement;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kSilence = 2 * kSecond;  ///< heartbeats come four times a second

std::string own_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::uint64_t monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The kernel's letter for a process's state; 0: there is no such process.
char state_of(std::uint64_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH ? '\0' : '?';
  const std::size_t name = text.rfind(')');
  return name == std::string::npos || name + 2 >= text.size() ? '?' : text[name + 2];
}

class Looker {
 public:
  explicit Looker(bool with_paths) : with_paths_(with_paths), host_(own_host()) {}

  /// `earlier`: its heartbeat at the look before.
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
    bool aborted = false;
  };

  [[nodiscard]] Life life_of(const Measurement& measurement, std::uint64_t heartbeat,
                             std::optional<std::uint64_t> earlier) const;
  void add_memberships(Process& process, const Raw& raw);
  void judge_end();
  void resolve(Process& process, Raw& raw);
  [[nodiscard]] std::int32_t world_rank(const calls::Context* context, std::int32_t rank) const;
  [[nodiscard]] Call call_of(const Raw& raw, const calls::Call& published) const;
  void add_requests(const Raw& raw, const calls::Call& published, Call& call) const;
  [[nodiscard]] Message message_of(const Raw& raw, CallKind kind, std::uint64_t comm, std::int32_t peer,
                                   std::int32_t tag) const;
  [[nodiscard]] Thread thread_of(const Raw& raw, std::size_t index) const;
  [[nodiscard]] std::string role_of(const measurement::PublishedPlace& place, std::size_t id) const;

  bool with_paths_;
  std::string host_;
  Picture picture_;
  std::vector<std::unique_ptr<Raw>> raw_;  ///< as the picture's processes
  /// Of each context its sides, by the first member's rank in the world, and their members.
  std::map<std::uint64_t, std::map<std::int32_t, std::vector<std::int32_t>>> sides_;
  Places places_;
};

Life Looker::life_of(const Measurement& measurement, std::uint64_t heartbeat,
                     std::optional<std::uint64_t> earlier) const {
  const measurement::ProcessInfo& process = measurement.process;
  if (measurement.sealed || process.end != measurement::EndReason::running)
    return measurement::orderly(process.end) ? Life::ended : Life::died;
  if (process.host != host_) return earlier == heartbeat ? Life::silent : Life::running;
  const char state = state_of(process.pid);
  if (state == 'T' || state == 't') return Life::stopped;
  const std::uint64_t now = monotonic_now();
  if (heartbeat <= now && now - heartbeat < kSilence) return Life::running;
  // A heartbeat that is yet to come is one of before the host was started last.
  return state == '\0' || state == 'Z' || state == 'X' || heartbeat > now ? Life::died : Life::silent;
}

void Looker::add(const Measurement& measurement, measurement::PublishedCalls calls,
                 std::optional<std::uint64_t> earlier) {
  const std::uint64_t heartbeat = calls.heartbeat_ns;
  Process process;
  process.host = print::spelled(measurement.process.host);
  process.pid = measurement.process.pid;
  process.rank = measurement.process.rank.value_or(-1);
  process.life = life_of(measurement, heartbeat, earlier);
  process.now_ns = heartbeat;
  process.publishes = calls.there;
  const std::uint64_t now = monotonic_now();
  const bool here = process.host == host_ && now > heartbeat;
  if (here) process.silent_s = static_cast<double>(now - heartbeat) / static_cast<double>(kSecond);
  picture_.world_size = std::max(picture_.world_size, measurement.process.world_size);
  auto raw = std::make_unique<Raw>();
  raw->calls = std::move(calls);
  raw->aborted = measurement.process.end == measurement::EndReason::abort;
  raw->last_seen_ns = static_cast<std::uint64_t>(measurement.process.start_realtime_ns) +
                      (std::max(heartbeat, measurement.process.end_ns) - measurement.process.start_ns);
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

void Looker::add_memberships(Process& process, const Raw& raw) {
  for (const calls::Context& context : raw.calls.contexts) {
    if (context.id == 0 || process.rank < 0 || context.rank < 0 || context.rank >= context.size ||
        static_cast<std::uint32_t>(context.size) > picture_.world_size)
      continue;
    Membership membership;
    membership.rank = context.rank;
    membership.collectives = context.collectives;
    std::ranges::copy(context.history, membership.history.begin());
    process.contexts[context.id] = membership;
    picture_.contexts[context.id].kind = context.kind;
    std::vector<std::int32_t>& side = sides_[context.id][context.first];
    side.resize(static_cast<std::size_t>(context.size), kUnknownRank);
    side[static_cast<std::size_t>(context.rank)] = process.rank;
  }
}

/// A process's rank in the world of a rank in one of its contexts; what is no rank stays as it is.
std::int32_t Looker::world_rank(const calls::Context* context, std::int32_t rank) const {
  if (rank < 0) return rank;
  if (context == nullptr) return kUnknownRank;
  const auto sides = sides_.find(context->id);
  if (sides == sides_.end()) return kUnknownRank;
  for (const auto& [first, members] : sides->second) {
    const bool own = first == context->first;
    if (own == (context->kind == ContextKind::intercommunicator)) continue;
    return static_cast<std::size_t>(rank) < members.size() ? members[static_cast<std::size_t>(rank)]
                                                           : kUnknownRank;
  }
  return kUnknownRank;
}

Message Looker::message_of(const Raw& raw, CallKind kind, std::uint64_t comm, std::int32_t peer,
                           std::int32_t tag) const {
  const calls::Context* const context = raw.handles.find(comm);
  return {.kind = kind,
          .comm = context == nullptr ? 0 : context->id,
          .peer = world_rank(context, peer),
          .tag = tag,
          .bytes = 0};
}

/// Of each request the message that was begun last under its handle, by any thread.
void Looker::add_requests(const Raw& raw, const calls::Call& published, Call& call) const {
  for (const std::uint64_t request : published.request) {
    if (request == 0) break;
    for (const auto& thread : raw.calls.threads) {
      const std::uint64_t noted = thread.call.messages_noted;
      const std::uint64_t kept = std::min<std::uint64_t>(noted, calls::kMessages);
      bool found = false;
      for (std::uint64_t i = 0; i < kept && !found; ++i) {
        const calls::Message& message = thread.call.message[(noted - 1 - i) % calls::kMessages];
        found = message.request == request;
        if (found)
          call.messages.push_back(
              message_of(raw, static_cast<CallKind>(message.kind), message.comm, message.peer, message.tag));
      }
      if (found) break;
    }
  }
}

Call Looker::call_of(const Raw& raw, const calls::Call& published) const {
  Call call;
  call.name = print::spelled(published.name);
  call.kind = published.kind;
  call.polls = published.polls != 0;
  const calls::Context* const context = raw.handles.find(published.context);
  call.context = context == nullptr ? 0 : context->id;
  switch (published.kind) {
    case CallKind::send:
      call.messages = {message_of(raw, CallKind::send, published.context, published.peer, published.tag)};
      break;
    case CallKind::receive:
    case CallKind::probe:
      call.messages = {message_of(raw, CallKind::receive, published.context, published.peer, published.tag)};
      break;
    case CallKind::exchange:
      call.messages = {
          message_of(raw, CallKind::send, published.context, published.peer, published.tag),
          message_of(raw, CallKind::receive, published.context, published.other_peer, published.other_tag)};
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
  const std::uint64_t state = 2 * published.call.entered + (published.inside() ? 0 : 1);
  if (published.call.seen == state) thread.since_ns = published.call.since;
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
  for (std::uint64_t i = noted - kept; i < noted; ++i) {
    const calls::Message& message = published.call.message[i % calls::kMessages];
    if (message.kind != static_cast<std::uint32_t>(CallKind::send) &&
        message.kind != static_cast<std::uint32_t>(CallKind::receive))
      continue;
    thread.last.push_back(
        message_of(raw, static_cast<CallKind>(message.kind), message.comm, message.peer, message.tag));
  }
  thread.path = places_.path(raw.paths[index]);
  return thread;
}

void Looker::resolve(Process& process, Raw& raw) {
  for (std::size_t i = 0; i < raw.calls.threads.size(); ++i) process.threads.push_back(thread_of(raw, i));
  std::ranges::stable_sort(process.threads, {}, &Thread::ordinal);
  for (std::size_t i = 0; i < raw.calls.lock_waits.size(); ++i) {
    const measurement::PublishedLockWait& published = raw.calls.lock_waits[i];
    const std::size_t index = raw.calls.threads.size() + i;
    process.lock_waits.push_back({.tid = published.wait.thread,
                                  .lock = published.wait.lock,
                                  .owner = published.wait.owner,
                                  .since_ns = published.wait.since,
                                  .ordinal = published.place.ordinal,
                                  .role = role_of(published.place, raw.roles[index]),
                                  .path = places_.path(raw.paths[index])});
  }
}

/// Where nobody lives any more, those that lived to the last are shown as they were then.
void Looker::judge_end() {
  const auto lives = [this](const Process& process) {
    return process.life == Life::running || process.life == Life::stopped ||
           (process.life == Life::silent && process.host == host_);
  };
  if (std::ranges::any_of(picture_.processes, lives)) return;
  picture_.over = true;
  std::uint64_t last = 0;
  for (const auto& raw : raw_) last = std::max(last, raw->last_seen_ns);
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    Process& process = picture_.processes[i];
    if (process.life == Life::ended || raw_[i]->aborted) continue;
    const std::uint64_t before = last - raw_[i]->last_seen_ns;
    process.silent_s = static_cast<double>(before) / static_cast<double>(kSecond);
    process.life = before < kSilence ? Life::running : Life::died;
  }
}

Picture Looker::take() {
  judge_end();
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    for (const calls::Context& context : raw_[i]->calls.contexts)
      raw_[i]->handles.context[context.handle] = &context;
    add_memberships(picture_.processes[i], *raw_[i]);
  }
  for (auto& [id, sides] : sides_) {
    Context& context = picture_.contexts[id];
    auto side = sides.begin();
    context.members = side->second;
    if (++side != sides.end() && context.kind == ContextKind::intercommunicator)
      context.others = side->second;
  }
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
  measurement::Reader reader;
  const auto read = [&](const std::filesystem::path& path) {
    try {
      const Measurement& measurement = reader.read(path.string());
      measurement::PublishedCalls calls;
      if (!measurement.sealed)
        calls = measurement::read_published_calls(path.string(), measurement.modules.size());
      const std::uint64_t heartbeat = calls.heartbeat_ns;
      const auto before = heartbeats_.find(path.string());
      looker.add(measurement, std::move(calls),
                 before == heartbeats_.end() ? std::nullopt : std::optional(before->second));
      heartbeats_[path.string()] = heartbeat;
    } catch (const measurement::MeasurementError& error) {
      problems_.push_back(error.path().string() + ": " + error.what());
    }
  };
  try {
    measurement::for_each_measurement(directory_, read);
  } catch (const measurement::MeasurementError& error) {
    throw std::runtime_error(error.what());
  }
  return looker.take();
}

}  // namespace culprit::stuck
