// What is said of an interval. Ranks that wait clearly less than others are the ones that are waited for; of
// what they do, that counts which the waiting ranks do less of.
#include "follow/part.hpp"

#include "follow/words.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <array>

namespace culprit::follow {
namespace {

/// Below this share, waiting is not worth a sentence.
constexpr double kLittle = 0.1;
/// Least difference between the shares of ranks that wait and of ranks that are waited for.
constexpr double kApart = 0.2;
/// A single rank is said to wait where it does so for this part of its time.
constexpr double kMostly = 0.5;
/// Below this share, what waiting ranks do besides is not worth one either.
constexpr double kRest = 0.05;
/// As much time without a processor explains what is slow.
constexpr double kStarved = 0.15;

constexpr std::array kNames = {"work",   "wait",        "io",   "asleep", "no-processor",
                               "silent", "not-sampled", "died", "ended"};
constexpr std::array kLetters = {'W', '.', 'I', 'z', '-', '?', 'n', 'x', 'e'};
constexpr std::array kWorstFirst = {State::died, State::silent,      State::no_processor,
                                    State::io,   State::asleep,      State::work,
                                    State::wait, State::not_sampled, State::ended};

double share_of(const RankRow& row, State state) {
  return row.share[index_of(state)];
}

std::vector<std::int32_t> numbers(const std::vector<const RankRow*>& rows) {
  std::vector<std::int32_t> ranks;
  ranks.reserve(rows.size());
  for (const RankRow* const row : rows) ranks.push_back(row->rank);
  return ranks;
}

/// `rank 3`, `ranks 0-2`; of a process that is no rank, `the process`.
std::string subject(const std::vector<const RankRow*>& rows) {
  if (!rows.empty() && rows.front()->rank < 0) return rows.size() == 1 ? "the process" : "processes";
  return stuck::ranks_in_words(numbers(rows));
}

double mean(const std::vector<const RankRow*>& rows, State state) {
  double sum = 0;
  for (const RankRow* const row : rows) sum += share_of(*row, state);
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

/// The largest hot spot of the state, with most of its ranks among `rows`; null: none.
const HotSpot* hottest(const Part& part, State state, const std::vector<const RankRow*>& rows) {
  const std::vector<std::int32_t> ranks = numbers(rows);
  for (const HotSpot& hot : part.hot) {
    if (hot.state != state) continue;
    const auto among = std::ranges::count_if(
        hot.ranks, [&](std::int32_t rank) { return std::ranges::find(ranks, rank) != ranks.end(); });
    if (hot.ranks.empty() || 2 * among > std::ssize(hot.ranks)) return &hot;
  }
  return nullptr;
}

std::string verb(const std::vector<const RankRow*>& rows, const char* one, const char* many) {
  return rows.size() == 1 ? one : many;
}

/// `works in assemble at solve.c:41 (88 % of its time)`: what the rows mostly do.
std::string doing(const Part& part, const std::vector<const RankRow*>& rows) {
  State most = State::work;
  for (const State state : {State::io, State::asleep, State::no_processor}) {
    if (mean(rows, state) > mean(rows, most)) most = state;
  }
  std::string text;
  switch (most) {
    case State::io:
      text = verb(rows, "reads or writes in ", "read or write in ");
      break;
    case State::asleep:
      text = verb(rows, "sleeps in ", "sleep in ");
      break;
    case State::no_processor:
      text = verb(rows, "has no processor in ", "have no processor in ");
      break;
    default:
      text = verb(rows, "works in ", "work in ");
      break;
  }
  const HotSpot* const hot = hottest(part, most == State::no_processor ? State::work : most, rows);
  text += hot == nullptr ? rows.front()->at : hot->text;
  return text + " (" + percent(mean(rows, most)) + " of " + verb(rows, "its", "their") + " time)";
}

std::string waiting_in(const Part& part, const std::vector<const RankRow*>& rows) {
  const HotSpot* const hot = hottest(part, State::wait, rows);
  return hot == nullptr ? "" : " in " + hot->text;
}

/// Whoever died, or has written nothing for a while. Of a process on another host nobody knows more.
std::string who_is_gone(const Part& part) {
  std::vector<const RankRow*> died, silent;
  double longest = 0;
  bool here = true;
  for (const RankRow& row : part.ranks) {
    if (row.state == State::died) died.push_back(&row);
    if (row.state != State::silent || row.silent_s <= 0) continue;
    silent.push_back(&row);
    here = here && row.here;
    longest = std::max(longest, row.silent_s);
  }
  std::string text = died.empty() ? "" : subject(died) + " died";
  if (silent.empty()) return text;
  return text + (text.empty() ? "" : "; ") + subject(silent) + verb(silent, " has", " have") +
         " written nothing for " + stuck::span_of_time(longest) +
         (here ? ": stopped, or without a processor"
               : ": stopped, dead, or " + verb(silent, "its", "their") + " host does not answer");
}

}  // namespace

const char* name_of(State state) {
  return kNames.at(index_of(state));
}

char letter_of(State state) {
  return kLetters.at(index_of(state));
}

State worse(State a, State b) {
  return std::ranges::find(kWorstFirst, a) <= std::ranges::find(kWorstFirst, b) ? a : b;
}

std::string diagnose(const Part& part) {
  std::vector<const RankRow*> rows;
  for (const RankRow& row : part.ranks) {
    if (row.seconds > 0 && row.state != State::ended && row.state != State::died) rows.push_back(&row);
  }
  const std::string gone = who_is_gone(part);
  if (rows.empty()) return gone.empty() ? "nothing ran" : gone;
  const double starved = part.share[index_of(State::no_processor)];
  std::string text = gone + (gone.empty() ? "" : "; ") + part.machine + (part.machine.empty() ? "" : "; ");
  if (starved >= kStarved && part.machine.empty()) {
    std::vector<const RankRow*> without;
    std::ranges::copy_if(rows, std::back_inserter(without),
                         [](const RankRow* row) { return share_of(*row, State::no_processor) >= kStarved; });
    text += subject(without) + verb(without, " has", " have") + " no processor for " +
            percent(mean(without, State::no_processor)) + " of the time; ";
  }
  double least = 1, most = 0;
  for (const RankRow* const row : rows) {
    least = std::min(least, share_of(*row, State::wait));
    most = std::max(most, share_of(*row, State::wait));
  }
  const bool alone = rows.size() == 1;  // of those that are left, where others are gone
  if (most < kLittle || (alone && most < kMostly)) return text + subject(rows) + " " + doing(part, rows);
  std::vector<const RankRow*> late, waiting;
  for (const RankRow* const row : rows)
    (share_of(*row, State::wait) < (least + most) / 2 ? late : waiting).push_back(row);
  if (alone || most - least < kApart || late.empty()) {
    const double waited = mean(rows, State::wait);
    return text + (gone.empty() && !alone ? "all ranks" : subject(rows)) + verb(rows, " waits, ", " wait, ") +
           percent(waited) + " of " + verb(rows, "its", "their") + " time, most of it" +
           waiting_in(part, rows) +
           (waited > 1 - kRest ? "" : verb(rows, "; else it ", "; else they ") + doing(part, rows));
  }
  return text + subject(late) + " " + doing(part, late) + " while " + subject(waiting) +
         verb(waiting, " waits", " wait") + waiting_in(part, waiting) + " (" +
         percent(mean(waiting, State::wait)) + ")";
}

}  // namespace culprit::follow
