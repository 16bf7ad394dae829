// First all looks, then all attribution: opening files with debug information takes its time, and what moves
// is to be seen at even intervals.
#include "stacks/looks.hpp"

#include "print/text.hpp"
#include "stacks/address_space.hpp"
#include "stacks/commands.hpp"
#include "stacks/held_threads.hpp"
#include "stacks/processes.hpp"
#include "stacks/refusal.hpp"
#include "stacks/walk.hpp"
#include "stuck/places.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace culprit::stacks {
namespace {

using Root = Path::Root;

/// A walk whose addresses are in modules.
struct RawPath {
  Root root = Root::program;
  std::vector<cct::FrameKey> frames;                                  ///< from the root on
  friend auto operator<=>(const RawPath&, const RawPath&) = default;  // NOLINT(modernize-use-nullptr)
};

/// A process while it is looked at.
class Subject {
 public:
  explicit Subject(const Target& target)
      : target_(target), label_(label_of(target.pid)), memory_(target.pid), walker_(memory_) {}

  void look(Holder& holder, std::size_t number, Observation& found);

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] bool seen() const { return !threads_.empty(); }
  [[nodiscard]] const std::vector<cct::ModuleKey>& modules() const { return modules_; }
  /// What files are called whose paths do not say it, by path.
  [[nodiscard]] const std::map<std::string, std::string>& names() const { return names_; }

  /// The path of each look that saw a thread.
  using Sightings = std::map<std::size_t, const RawPath*>;
  struct Thread {
    pid_t tid = 0;
    Sightings looks;
    user_regs_struct registers{};  ///< of the last look that saw it
    std::size_t last = 0;          ///< the number of that look
    bool busy = false;
  };
  [[nodiscard]] const std::vector<Thread>& threads() const { return threads_; }

 private:
  Walk walk_of(const ThreadCopy& copy);
  void note(const ThreadCopy& copy, const Walk& walk, std::size_t number);
  RawPath raw_path(const Walk& walk, bool main);
  std::uint32_t module_number(const LoadedModule& module);
  void say_missed(const std::vector<MissedThread>& missed, Observation& found);
  void say_stopped(Observation& found) const;

  Target target_;
  std::string label_;
  AddressSpace memory_;
  Walker walker_;
  std::vector<Thread> threads_;  ///< in the order of their start
  std::set<RawPath> paths_;      ///< each once
  std::vector<cct::ModuleKey> modules_;
  std::map<cct::ModuleKey, std::uint32_t> numbers_;
  std::map<std::string, std::string> names_;
  bool over_ = false;  ///< it has ended, or may not be looked at
  bool said_ = false;
};

std::uint32_t Subject::module_number(const LoadedModule& module) {
  const auto [entry, fresh] = numbers_.try_emplace(module.key, static_cast<std::uint32_t>(modules_.size()));
  if (fresh) modules_.push_back(module.key);
  if (fresh && !module.name.empty()) names_[module.key.path] = module.name;
  return entry->second;
}

/// A return address belongs to the call before it.
RawPath Subject::raw_path(const Walk& walk, bool main) {
  RawPath path;
  path.root = !walk.whole ? Root::partial : main ? Root::program : Root::thread;
  path.frames.reserve(walk.steps.size());
  for (std::size_t i = walk.steps.size(); i-- > 0;) {
    const auto& step = walk.steps[i];
    const std::uint64_t address = step.exact ? step.address : step.address - 1;
    const LoadedModule* const module = memory_.module_at(address);
    path.frames.push_back({.offset = module == nullptr ? address : address - module->bias,
                           .module = module == nullptr ? cct::kNoModule : module_number(*module),
                           .kind = step.exact ? cct::FrameKind::sample : cct::FrameKind::call});
  }
  return path;
}

void Subject::say_missed(const std::vector<MissedThread>& missed, Observation& found) {
  if (missed.empty() || said_) return;
  said_ = true;
  using Why = MissedThread::Why;
  const Why why = missed.front().why;
  const char* const reason =
      why == Why::uninterruptible
          ? "in uninterruptible sleep: it waits for a disk, a network file system or a child "
            "of vfork (cat /proc/PID/task/TID/wchan as root says where)"
      : why == Why::not_64_bit ? "of a 32-bit program (only 64-bit ones are supported)"
                               : "did not stop within a second (look again)";
  const std::string first = "thread " + std::to_string(missed.front().tid);
  found.missed.push_back(label_ + ": " + first +
                         (missed.size() > 1 ? " and " + std::to_string(missed.size() - 1) + " more" : "") +
                         ": " + reason);
}

/// It stands where it was stopped, whatever it would do.
void Subject::say_stopped(Observation& found) const {
  const auto process = find_process(target_.pid);
  if (process && process->state == 'T')
    found.missed.push_back(label_ + ": is stopped by a signal (kill -CONT " + std::to_string(target_.pid) +
                           " lets it go on)");
}

/// The mappings were read before the thread was stopped: it may be in a library that it has loaded since.
Walk Subject::walk_of(const ThreadCopy& copy) {
  Walk walk = walker_.walk(copy);
  const auto is_unknown = [&](const Walk::Step& step) { return memory_.module_at(step.address) == nullptr; };
  if (walk.whole || std::ranges::none_of(walk.steps, is_unknown) || !memory_.refresh()) return walk;
  walker_.forget();
  return walker_.walk(copy);
}

void Subject::look(Holder& holder, std::size_t number, Observation& found) {
  if (!machine::kCallsBeginAgain) {
    over_ = true;
    found.unseen.push_back(label_ + ": no thread can be stopped on " + machine::kName +
                           " without breaking off its system call (measure the program by hpcrun-lite)");
    return;
  }
  if (over_) return;
  if (number == 0) say_stopped(found);
  std::vector<pid_t> starved;
  Held held = holder.look(target_.pid, memory_, [&](Held& part) {
    if (part.remapped) walker_.forget();
    for (const ThreadCopy& copy : part.threads) {
      const Walk walk = walk_of(copy);
      if (walk.starved) starved.push_back(copy.tid);
      note(copy, walk, number);
    }
  });
  // Of a process that executes a program just now there is no memory for a moment.
  const bool hidden = memory_.error() == EACCES || memory_.error() == EPERM;
  if (held.refused == 0 && !held.gone && hidden) held.refused = memory_.error();
  if (held.refused != 0 || held.gone) {
    over_ = true;
    if (held.refused != 0) found.unseen.push_back(explain_refusal(target_.pid, held.refused));
    if (held.gone && threads_.empty()) found.unseen.push_back(label_ + ": has ended (look at others)");
    return;
  }
  holder.visit(target_.pid, memory_, starved, held,
               [&](const ThreadCopy& copy) { note(copy, walker_.walk_stopped(copy), number); });
  say_missed(held.missed, found);
  found.stops_ns[number] = std::max(found.stops_ns[number], held.longest_stop_ns);
}

/// Whether a thread may not have run in between. Other registers change when a call begins again.
bool is_same_state(const user_regs_struct& a, const user_regs_struct& b) {
  return machine::lasting_registers(a) == machine::lasting_registers(b);
}

/// Of two walks in one look the later one counts.
void Subject::note(const ThreadCopy& copy, const Walk& walk, std::size_t number) {
  auto thread = std::ranges::find(threads_, copy.tid, &Thread::tid);
  if (thread == threads_.end()) {
    thread = threads_.insert(threads_.end(),
                             {.tid = copy.tid, .looks = {}, .registers = {}, .last = number, .busy = false});
  } else if (thread->last != number && !is_same_state(thread->registers, copy.registers)) {
    thread->busy = true;
  }
  thread->registers = copy.registers;
  thread->last = number;
  const auto path = paths_.insert(raw_path(walk, copy.tid == target_.pid)).first;
  thread->looks.insert_or_assign(number, &*path);
}

using Subjects = std::vector<std::unique_ptr<Subject>>;

/// What is traced belongs to the thread that traces; when that ends, the kernel lets all go.
void look_at_all(Subjects& subjects, const Options& options, Observation& found) {
  Holder holder;
  const auto count_late = [&](std::uint64_t& stop) { stop = std::max(stop, holder.take_late_stop_ns()); };
  for (std::size_t number = 0; number < options.looks; ++number) {
    if (number != 0) {
      holder.wait(static_cast<std::uint64_t>(options.every_s * 1e9));
      count_late(found.stops_ns[number - 1]);
    }
    for (const auto& subject : subjects) subject->look(holder, number, found);
  }
  holder.finish();
  if (!found.stops_ns.empty()) count_late(found.stops_ns.back());
}

/// What we preload is not the program's, nor are threads that run nothing else.
bool is_own(const Frame& frame) {
  return frame.module.starts_with("libculprit");
}

/// `MPI_Send` of `PMPI_Send`.
std::string_view without_profiling(const std::string& name) {
  return std::string_view(name).substr(name.starts_with("PMPI_") ? 1 : 0);
}

/// Leaves our frames out, and returns how many. What our wrapper calls of MPI besides its own function, as in
/// MPI_Finalize, gets the wrapper's name: that is what the program has called.
std::size_t leave_own_out(std::vector<Frame>& frames) {
  const auto wrapper = std::ranges::find_if(frames, &Frame::mpi);
  if (wrapper != frames.end() && is_own(*wrapper)) {
    const auto inner =
        std::find_if(wrapper, frames.end(), [](const Frame& frame) { return frame.mpi && !is_own(frame); });
    if (inner != frames.end() && without_profiling(inner->name) != without_profiling(wrapper->name)) {
      inner->name = wrapper->name;
      inner->file.clear();
      inner->line = 0;
    }
  }
  return std::erase_if(frames, is_own);
}

/// The program's first function in a thread; where there is none, the one that the thread was started with.
std::string role_of(const std::vector<Frame>& path) {
  auto first = std::ranges::find_if_not(
      path, [](const Frame& frame) { return is_start_up(frame) || is_of_system(frame); });
  if (first == path.end()) first = std::ranges::find_if_not(path, is_start_up);
  return first == path.end() ? "thread" : first->name;
}

/// Puts together what was seen, with names in place of addresses.
class Attribution {
 public:
  Attribution(const Subjects& subjects, Observation& found) : subjects_(subjects), found_(found) {}
  void run() {
    gather();
    places_.attribute();
    const std::string host = print::spelled(own_host());
    for (const auto& subject : subjects_) add(*subject, host);
  }

 private:
  using Key = std::pair<const Subject*, const RawPath*>;

  void gather() {
    for (const auto& subject : subjects_) {
      for (const auto& [path, name] : subject->names()) places_.call(path, name);
      for (const auto& thread : subject->threads()) {
        for (const auto& [number, path] : thread.looks) {
          const auto [entry, fresh] = ids_.try_emplace({subject.get(), path});
          if (fresh) entry->second = places_.add(path->frames, subject->modules());
        }
      }
    }
  }

  /// The path as the user knows it; kNotSeen where it holds nothing but our own frames.
  std::size_t path_number(const Subject& subject, const RawPath& raw) {
    const auto [entry, fresh] = numbers_.try_emplace(ids_.at({&subject, &raw}), kNotSeen);
    if (!fresh) return entry->second;
    Path path{.root = raw.root, .frames = places_.path(entry->first)};
    // Threads of others begin in a function of ours too.
    if (leave_own_out(path.frames) != 0 && std::ranges::all_of(path.frames, is_of_c_library))
      return entry->second;
    entry->second = found_.paths.size();
    found_.paths.push_back(std::move(path));
    return entry->second;
  }

  void add(const Subject& subject, const std::string& host) {
    if (!subject.seen()) return;
    ++found_.processes;
    std::uint32_t ordinal = 1;
    for (const auto& thread : subject.threads()) {
      std::vector<std::size_t> seen(found_.looks, kNotSeen);
      std::size_t any = kNotSeen;
      for (const auto& [number, path] : thread.looks) {
        seen[number] = path_number(subject, *path);
        if (any == kNotSeen) any = seen[number];
      }
      if (any == kNotSeen) continue;
      const bool main = thread.tid == subject.target().pid;
      found_.locations.push_back({.rank = subject.target().rank,
                                  .thread = main ? 0 : ordinal++,
                                  .role = main ? "main" : role_of(found_.paths[any].frames),
                                  .host = host,
                                  .pid = static_cast<std::uint64_t>(subject.target().pid)});
      found_.seen.push_back(std::move(seen));
      found_.busy.push_back(thread.busy);
    }
  }

  const Subjects& subjects_;
  Observation& found_;
  stuck::Places places_{stuck::Depth::whole};
  std::map<Key, stuck::Places::PathId> ids_;
  std::map<stuck::Places::PathId, std::size_t> numbers_;
};

}  // namespace

Observation look(const std::vector<Target>& targets, const Options& options) {
  Observation found;
  found.looks = options.looks;
  found.stops_ns.resize(options.looks);
  Subjects subjects;
  for (const Target& target : targets) subjects.push_back(std::make_unique<Subject>(target));
  {
    const StopsLater all_threads;  // the one that looks begins as this one is
    std::async(std::launch::async, [&] { look_at_all(subjects, options, found); }).get();
  }
  Attribution(subjects, found).run();
  return found;
}

}  // namespace culprit::stacks
