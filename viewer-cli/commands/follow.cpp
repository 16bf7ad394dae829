#include "commands/follow.hpp"

#include "follow/words.hpp"
#include "print/output.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using follow::State;

/// A job may wait in a queue for a while between the two commands of a script; not for ever.
constexpr std::chrono::seconds kPatienceForStart{60};
constexpr std::chrono::milliseconds kBetweenTries{250};
/// Of a processor, for looks.
constexpr double kMostShare = 0.01;
constexpr std::size_t kProblemsReported = 5;

/// What a rank does, of one and of many.
struct StateWords {
  State state;
  const char *one, *many;
};
constexpr std::array kStateWords = {StateWords{State::work, "works", "work"},
                                    StateWords{State::wait, "waits", "wait"},
                                    StateWords{State::io, "reads or writes", "read or write"},
                                    StateWords{State::asleep, "sleeps", "sleep"},
                                    StateWords{State::no_processor, "has no processor", "have no processor"},
                                    StateWords{State::silent, "is silent", "are silent"},
                                    StateWords{State::not_sampled, "is not sampled", "are not sampled"},
                                    StateWords{State::died, "has died", "have died"},
                                    StateWords{State::ended, "has ended", "have ended"}};

Json shares_json(const std::array<double, follow::kShares>& share) {
  Json shares = Json::object();
  for (std::size_t i = 0; i < share.size(); ++i) shares[follow::name_of(static_cast<State>(i))] = share.at(i);
  return shares;
}

Json part_json(const follow::Part& part) {
  Json ranks = Json::array();
  for (const follow::RankRow& row : part.ranks) {
    ranks.push_back({{"rank", row.rank < 0 ? Json(nullptr) : Json(row.rank)},
                     {"process", row.process},
                     {"state", follow::name_of(row.state)},
                     {"seconds", row.seconds},
                     {"shares", shares_json(row.share)},
                     {"at", row.at}});
  }
  Json hot = Json::array();
  for (const follow::HotSpot& spot : part.hot) {
    hot.push_back({{"state", follow::name_of(spot.state)},
                   {"call", spot.call},
                   {"name", spot.procedure},
                   {"file", spot.file},
                   {"line", spot.line},
                   {"seconds", spot.seconds},
                   {"share", spot.share},
                   {"ranks", spot.ranks}});
  }
  return {{"seconds", part.seconds}, {"shares", shares_json(part.share)}, {"diagnosis", part.diagnosis},
          {"machine", part.machine}, {"ranks", std::move(ranks)},         {"hot", std::move(hot)}};
}

void complain_of(const follow::Follower& follower, std::vector<std::string>& reported) {
  for (const std::string& problem : follower.problems()) {
    if (reported.size() >= kProblemsReported || std::ranges::find(reported, problem) != reported.end())
      continue;
    reported.push_back(problem);
    print::complain("viewer-cli", "follow: " + problem);
  }
}

}  // namespace

void look(follow::Follower& follower, const std::string& directory) {
  try {
    follower.look();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("follow: " + directory + ": " + error.what());
  }
}

void await_run(follow::Follower& follower, const std::string& directory) {
  const auto end = std::chrono::steady_clock::now() + kPatienceForStart;
  bool announced = false;
  while (true) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(directory, error);
    const bool there = std::filesystem::exists(status);
    const bool comes = !error || error == std::errc::no_such_file_or_directory;
    if (!comes)
      throw std::runtime_error("follow: " + directory + ": " + error.message() + " (check the path)");
    if (there && !std::filesystem::is_directory(status))
      throw std::runtime_error("follow: " + directory +
                               ": not a directory (give the measurement directory of a running program)");
    if (there) std::filesystem::directory_iterator(directory, error);
    try {
      if (there) look(follower, directory);
      if (follower.has_processes() || follower.ended()) return;
    } catch (const std::runtime_error&) {
      // The run's marker is made after the directory; that it cannot be listed does not change.
      if (error || std::chrono::steady_clock::now() >= end) throw;
    }
    if (std::chrono::steady_clock::now() >= end)
      throw std::runtime_error(fmt::format(
          "follow: {}: {} after {} s (start the job with hpcrun-lite -o DIR, and give DIR)", directory,
          there ? "holds no measurement" : "does not exist", kPatienceForStart.count()));
    if (!announced && !follower.has_measurements()) {
      print::complain("viewer-cli", "follow: " + directory + ": waiting for the first process");
      announced = true;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

std::chrono::milliseconds pause_after(double cost_s, double every_s) {
  return std::chrono::milliseconds(static_cast<long>(std::max(every_s, cost_s / kMostShare) * 1000));
}

std::string iterations_in_words(const follow::Summary& summary) {
  if (!summary.iterations) return "";
  const double rate = summary.iterations->per_minute;
  std::string text = fmt::format("{:.{}f} iterations/min", rate, rate < 10 ? 1 : 0);
  if (summary.iterations->inferred) text += fmt::format(", inferred from {}", summary.iterations_at);
  return text;
}

std::string states_in_words(const follow::Part& part) {
  std::string text;
  for (const StateWords& words : kStateWords) {
    const auto count = std::ranges::count(part.ranks, words.state, &follow::RankRow::state);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, count == 1 ? words.one : words.many);
  }
  return text;
}

std::string line_of(const follow::Summary& summary) {
  const follow::Part& part = summary.interval;
  const bool ranks = !part.ranks.empty() && part.ranks.front().rank >= 0;
  const std::string first = summary.standstill + (summary.standstill.empty() ? "" : "; ");
  std::string text = fmt::format("{:.1f} s  {}{} {}: {}", summary.run_s, first, part.ranks.size(),
                                 part.ranks.size() == 1 ? (ranks ? "rank" : "process")
                                 : ranks                ? "ranks"
                                                        : "processes",
                                 states_in_words(part));
  const double waited = part.share[static_cast<std::size_t>(State::wait)];
  text += fmt::format("; waiting {} of the last {:.1f} s", follow::percent(waited), part.seconds);
  text += "; " + part.diagnosis;
  const std::string iterations = iterations_in_words(summary);
  return text + (iterations.empty() ? "" : "; " + iterations);
}

Json follow_json(const follow::Summary& summary) {
  Json iterations = nullptr;
  if (summary.iterations) {
    iterations = {{"per_minute", summary.iterations->per_minute},
                  {"inferred", summary.iterations->inferred},
                  {"at", summary.iterations_at}};
  }
  return {{"time_s", summary.run_s},
          {"standstill", summary.standstill.empty() ? Json(nullptr) : Json(summary.standstill)},
          {"interval", part_json(summary.interval)},
          {"run", part_json(summary.whole)},
          {"iterations", std::move(iterations)}};
}

void follow_in_lines(std::ostream& out, const Invocation& invocation, follow::Follower& follower) {
  print::TextStream text(out);
  std::vector<std::string> reported;
  while (!follower.ended()) {
    std::this_thread::sleep_for(follower.runs() ? pause_after(follower.cost_s(), invocation.every_s)
                                                : kBetweenTries);
    look(follower, invocation.database);
    complain_of(follower, reported);
    if (!follower.runs() || !follower.has_interval()) continue;
    const follow::Summary summary = follower.summary();
    if (invocation.format == Format::json) {
      text << follow_json(summary).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    } else {
      text << line_of(summary) << '\n';
    }
    text.flush();
    out.flush();
  }
}

}  // namespace culprit::viewer
