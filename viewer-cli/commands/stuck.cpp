// Looks at a job twice, and writes who waits for whom (lib/stuck decides that). The second look comes after
// each process that lives has written since the first, as far as it does within some looks: older data show
// nothing new. Threads in one call at one place share a row.
#include "commands/stuck.hpp"

#include "print/output.hpp"
#include "stuck/look.hpp"
#include "stuck/words.hpp"
#include "text/prose.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1000};
constexpr int kMostLooksAgain = 10;    ///< where some processes write rarely, or do not live any more
constexpr std::size_t kMostRows = 16;  ///< one for each thread; of more, those that are alike share one
constexpr std::size_t kProblemsListed = 20;

/// Arrows as the screen can show them.
std::string with_arrows(std::string text, const Screen& screen) {
  if (!screen.unicode) return text;
  for (std::size_t at = text.find(" -> "); at != std::string::npos; at = text.find(" -> ", at))
    text.replace(at, 4, " → ");
  return text;
}

std::string label_of(const stuck::Process& process, const stuck::Thread& thread) {
  const std::string text = stuck::name_of(process);
  return thread.ordinal == 0 ? text : text + " thread " + std::to_string(thread.ordinal);
}

/// A row of the text: what some threads are in, or where.
struct Row {
  std::string who, what, since, whom, where;
};

std::string message_of(const stuck::Call& call) {
  if (call.messages.size() != 1) return "";
  const stuck::Message& message = call.messages.front();
  return message.tag == stuck::kAnyTag ? "any tag" : "tag " + std::to_string(message.tag);
}

Row row_of(const stuck::Picture& picture, const stuck::Waiting& waiting) {
  const stuck::Process& process = picture.processes[waiting.process];
  const stuck::Thread& thread = process.threads[waiting.thread];
  Row row{.who = label_of(process, thread),
          .what = thread.call.name,
          .since = stuck::span_of_time(waiting.since_s),
          .whom = waiting.ranks.empty() ? "" : "for " + stuck::ranks_in_words(waiting.ranks),
          .where = stuck::place_of(thread.path)};
  if (const std::string message = message_of(thread.call); !message.empty() && !row.whom.empty())
    row.whom += ", " + message;
  return row;
}

/// Of many threads: those in one call at one place share a row.
std::vector<Row> shared_rows(const stuck::Picture& picture, const std::vector<stuck::Waiting>& waiting) {
  struct Group {
    std::vector<std::int32_t> ranks, whom;
    double least = 0, most = 0;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const stuck::Waiting& each : waiting) {
    const stuck::Process& process = picture.processes[each.process];
    const stuck::Thread& thread = process.threads[each.thread];
    Group& group = groups[{thread.call.name, stuck::place_of(thread.path)}];
    if (group.ranks.empty()) group.least = group.most = each.since_s;
    group.ranks.push_back(process.rank);
    group.whom.insert(group.whom.end(), each.ranks.begin(), each.ranks.end());
    group.least = std::min(group.least, each.since_s);
    group.most = std::max(group.most, each.since_s);
  }
  std::vector<Row> rows;
  for (auto& [key, group] : groups) {
    std::ranges::sort(group.whom);
    group.whom.erase(std::unique(group.whom.begin(), group.whom.end()), group.whom.end());
    const std::string least = stuck::span_of_time(group.least);
    const std::string most = stuck::span_of_time(group.most);
    rows.push_back({.who = stuck::ranks_in_words(group.ranks),
                    .what = key.first,
                    .since = least == most ? least : (least + " to ").append(most),
                    .whom = group.whom.empty() ? "" : "for " + stuck::ranks_in_words(group.whom),
                    .where = key.second});
  }
  return rows;
}

std::vector<Row> moving_rows(const stuck::Picture& picture, const std::vector<stuck::Moving>& moving) {
  std::map<std::string, std::vector<std::int32_t>> by_place;
  std::vector<Row> rows;
  for (const stuck::Moving& each : moving) {
    const stuck::Process& process = picture.processes[each.process];
    const stuck::Thread& thread = process.threads[each.thread];
    const std::string where = stuck::whereabouts(thread);
    if (moving.size() > kMostRows) {
      by_place[where].push_back(process.rank);
    } else {
      rows.push_back({.who = label_of(process, thread), .what = {}, .since = {}, .whom = {}, .where = where});
    }
  }
  for (const auto& [where, ranks] : by_place)
    rows.push_back(
        {.who = stuck::ranks_in_words(ranks), .what = {}, .since = {}, .whom = {}, .where = where});
  return rows;
}

void write_rows(std::ostream& out, const std::vector<Row>& rows) {
  std::size_t width[4] = {};
  const auto cells = [](const Row& row) { return std::array{&row.who, &row.what, &row.since, &row.whom}; };
  for (const Row& row : rows) {
    const auto cell = cells(row);
    for (std::size_t i = 0; i < cell.size(); ++i) width[i] = std::max(width[i], cell[i]->size());
  }
  for (const Row& row : rows) {
    std::string line;
    const auto cell = cells(row);
    for (std::size_t i = 0; i < cell.size(); ++i) {
      if (width[i] != 0) line += *cell[i] + std::string(width[i] - cell[i]->size() + 2, ' ');
    }
    line += row.where;
    line.erase(line.find_last_not_of(' ') + 1);
    out << "  " << line << '\n';
  }
}

Json path_of(const std::vector<stuck::Frame>& path) {
  Json frames = Json::array();
  for (const stuck::Frame& frame : path) frames.push_back(to_json(frame));
  return frames;
}

Json location_of(const stuck::Process& process, const stuck::Thread& thread) {
  return location_json(process.rank, thread.ordinal, thread.role,
                       process.host + ":" + std::to_string(process.pid));
}

stuck::Picture look_at(stuck::Job& job, const std::string& directory, bool with_paths) {
  try {
    return job.look(with_paths);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("stuck: " + directory + ": " + error.what());
  }
}

/// The first look and the last one, the same where the job is over.
struct Looks {
  std::optional<stuck::Picture> before;
  stuck::Picture now;
};

/// Whether a process has not written since the first look: on another host it may be dead, or its file system
/// slow; on this one it is slow.
bool is_incomplete(const stuck::Picture& before, const stuck::Picture& now) {
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> heartbeats;
  for (const stuck::Process& process : before.processes)  // a rank before what it was before an exec
    heartbeats.try_emplace({process.host, process.pid}, process.now_ns);
  return std::ranges::any_of(now.processes, [&](const stuck::Process& process) {
    const auto then = heartbeats.find({process.host, process.pid});
    const bool waits = process.life == stuck::Life::running || process.life == stuck::Life::silent;
    return waits && then != heartbeats.end() && then->second == process.now_ns;
  });
}

/// Looks until each process that lives has written since the first look.
Looks look_twice(stuck::Job& job, const std::string& directory) {
  Looks looks{.before = look_at(job, directory, false), .now = {}};
  bool again = !looks.before->over;
  for (int look = 1; again && look < kMostLooksAgain; ++look) {
    std::this_thread::sleep_for(kBetweenLooks);
    looks.now = look_at(job, directory, false);
    again = !looks.now.over && is_incomplete(*looks.before, looks.now);
  }
  looks.now = look_at(job, directory, true);
  if (looks.now.over) looks.before.reset();
  return looks;
}

stuck::Findings find(const Looks& looks, const stuck::Options& options) {
  return stuck::find(looks.now, looks.before ? &*looks.before : nullptr, options);
}

void complain_of(const stuck::Job& job) {
  const std::size_t listed = std::min(job.problems().size(), kProblemsListed);
  for (std::size_t i = 0; i < listed; ++i) print::complain("viewer-cli", "stuck: " + job.problems()[i]);
  if (listed < job.problems().size())
    print::complain("viewer-cli",
                    "stuck: and " + std::to_string(job.problems().size() - listed) + " more files");
}

/// Of a job that is over: whether processes have no end of their own.
bool was_killed(const stuck::Picture& picture) {
  return std::ranges::any_of(
      picture.processes, [](const stuck::Process& process) { return process.life != stuck::Life::ended; });
}

bool is_nothing_known(const stuck::Picture& picture) {
  return picture.processes.empty() && picture.unread > 0;
}

std::string what_is_unread(const stuck::Picture& picture) {
  if (is_nothing_known(picture))
    return "No measurement of the job could be read: whether it runs, or is stuck, is unknown.";
  if (picture.unread == 0) return "";
  return picture.unread == 1 ? " One measurement could not be read: nothing is known of its process."
                             : ' ' + std::to_string(picture.unread) +
                                   " measurements could not be read: nothing is known of their processes.";
}

std::string claim_of(const stuck::Picture& picture, const stuck::Findings& findings) {
  const std::string none = picture.unread == 0 ? "no rank was stuck" : "no rank was stuck that could be read";
  const std::string all_left = "all ranks ended without MPI_Finalize, as when the launcher dies";
  if (picture.over && findings.stuck())
    return findings.verdict + ", when " + (findings.all_left ? all_left : "the job ended") + '.';
  if (!picture.over || !findings.well()) return findings.verdict + '.';
  if (findings.all_left) return 'A' + all_left.substr(1) + "; until then " + none + '.';
  const stuck::FirstGone& first = findings.first_gone;
  return std::string("The job ") + (was_killed(picture) ? "was killed" : "has ended") + "; until then " +
         none + '.' +
         (first.rank < 0 ? ""
                         : " Rank " + std::to_string(first.rank) + " was last seen " +
                               stuck::span_of_time(first.before_s) + " before the others: look there first.");
}

std::string sentence_of(const stuck::Picture& picture, const stuck::Findings& findings) {
  return is_nothing_known(picture) ? what_is_unread(picture)
                                   : claim_of(picture, findings) + what_is_unread(picture);
}

/// The verdict in one word, for scripts.
const char* kind_of_verdict(const stuck::Picture& picture, const stuck::Findings& findings) {
  if (findings.stuck()) return "stuck";
  if (!findings.crashed.empty()) return findings.aborted ? "aborted" : "crashed";
  if (!findings.left.empty() || findings.all_left) return "left";
  if (picture.unread > 0) return "unknown";
  if (!picture.over) return "not-stuck";
  return was_killed(picture) ? "killed" : "ended";
}

void write_problems(std::ostream& out, const Screen& screen, const stuck::Findings& findings) {
  for (const stuck::Problem& problem : findings.problems)
    out << "- " << wrap(with_arrows(problem.text, screen), screen.width, 2, 2) << ".\n";
}

}  // namespace

void write_stuck(std::ostream& out, const Screen& screen, const stuck::Picture& picture,
                 const stuck::Findings& findings) {
  const std::string verdict = wrap(sentence_of(picture, findings), screen.width);
  const bool well = findings.well();
  out << (well ? screen.good(verdict) : screen.warning(verdict)) << '\n';
  if (findings.stuck()) {
    out << '\n';
    write_problems(out, screen, findings);
  }
  if (!findings.waiting.empty()) {
    out << '\n' << screen.bold("Waiting in one call") << '\n';
    std::vector<Row> rows;
    if (findings.waiting.size() > kMostRows) {
      rows = shared_rows(picture, findings.waiting);
    } else {
      for (const stuck::Waiting& each : findings.waiting) rows.push_back(row_of(picture, each));
    }
    write_rows(out, rows);
  }
  if (findings.moving.empty()) return;
  out << '\n' << screen.bold("In no call for long") << '\n';
  write_rows(out, moving_rows(picture, findings.moving));
}

Json stuck_json(const stuck::Picture& picture, const stuck::Findings& findings) {
  Json problems = Json::array();
  for (const stuck::Problem& problem : findings.problems) {
    problems.push_back({{"kind", std::string(stuck::name_of(problem.kind))},
                        {"ranks", problem.ranks},
                        {"text", problem.text}});
  }
  Json waiting = Json::array();
  for (const stuck::Waiting& each : findings.waiting) {
    const stuck::Process& process = picture.processes[each.process];
    const stuck::Thread& thread = process.threads[each.thread];
    Json row = location_of(process, thread);
    row["call"] = thread.call.name;
    row["since_s"] = each.since_s;
    row["for"] = each.ranks;
    row["path"] = path_of(thread.path);
    waiting.push_back(std::move(row));
  }
  Json moving = Json::array();
  for (const stuck::Moving& each : findings.moving) {
    const stuck::Process& process = picture.processes[each.process];
    Json row = location_of(process, process.threads[each.thread]);
    row["path"] = path_of(process.threads[each.thread].path);
    moving.push_back(std::move(row));
  }
  return {
      {"stuck", findings.stuck()},
      {"verdict", {{"kind", kind_of_verdict(picture, findings)}, {"text", sentence_of(picture, findings)}}},
      {"runs", !picture.over},
      {"problems", std::move(problems)},
      {"waiting", std::move(waiting)},
      {"moving", std::move(moving)}};
}

int run_stuck(std::ostream& out, const Screen& screen, const Invocation& invocation) {
  stuck::Job job(invocation.database);
  const Looks looks = look_twice(job, invocation.database);
  const stuck::Picture& picture = looks.now;
  const stuck::Findings findings = find(looks, {.patience_s = invocation.after_s});
  complain_of(job);
  print::TextStream text(out, screen.colour);
  if (invocation.format == Format::json) {
    text << write(stuck_json(picture, findings));
  } else {
    write_stuck(text, screen, picture, findings);
  }
  text.flush();
  return job.problems().empty() ? 0 : 1;
}

bool write_stuck_at_end(std::ostream& out, const Screen& screen, const std::string& directory) {
  stuck::Job job(directory);
  Looks looks;
  try {
    looks.now = job.look(true);
    if (looks.now.lives) return false;  // it runs
    if (!looks.now.over) looks = look_twice(job, directory);
  } catch (const std::runtime_error&) {
    return false;  // merging has reported what is wrong
  }
  if (!looks.now.over) return false;
  const stuck::Findings findings = find(looks, {});
  const bool crashed = !findings.crashed.empty();
  if (!findings.stuck() && !crashed && !findings.all_left) return false;
  print::TextStream text(out, screen.colour);
  text << screen.warning(wrap(sentence_of(looks.now, findings), screen.width)) << '\n';
  write_problems(text, screen, findings);
  text << '\n';
  text.flush();
  return crashed;
}

}  // namespace culprit::viewer
