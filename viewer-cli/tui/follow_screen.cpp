#include "tui/follow_screen.hpp"

#include "commands/follow.hpp"
#include "follow/words.hpp"
#include "text/prose.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include <fmt/core.h>

namespace culprit::viewer::tui {
namespace {

using follow::State;

constexpr std::size_t kHistory = 30;  // looks
constexpr int kNumbers = 24;          // columns in front of the tree
constexpr double kHotNow = 0.3, kWarmNow = 0.1;

constexpr std::array<std::pair<const char*, const char*>, 9> kFollowKeys = {{
    {"arrows, j k", "move"},
    {"Enter, l, h", "open, close"},
    {"i", "the last interval, or the run so far"},
    {"s", "sort by time, by waiting, by name"},
    {"Space", "hold the screen, and go on"},
    {"g G", "to the first and to the last row"},
    {"?", "these keys"},
    {"Ctrl-L", "draw the screen again"},
    {"q", "quit; the run goes on"},
}};

Tone tone_of(State state) {
  switch (state) {
    case State::work:
      return Tone::series_a;
    case State::io:
      return Tone::series_c;
    case State::no_processor:
    case State::died:
      return Tone::warning;
    case State::asleep:
      return Tone::series_d;
    default:
      return Tone::dim;
  }
}

Tone heat(double share) {
  return share >= kHotNow ? Tone::hot : share >= kWarmNow ? Tone::warm : Tone::plain;
}

std::string rank_name(const follow::RankRow& row) {
  return row.rank < 0 ? row.process : fmt::format("rank {}", row.rank);
}

void put_state(Canvas& canvas, int row, int column, State state) {
  canvas.put(row, column, static_cast<char32_t>(follow::letter_of(state)), tone_of(state));
}

}  // namespace

void FollowScreen::take(follow::Summary summary, const follow::LiveTree& tree) {
  if (held_) return;
  for (const follow::RankRow& row : summary.interval.ranks) {
    std::deque<State>& states = history_[row.key].states;
    states.push_back(row.state);
    if (states.size() > kHistory) states.pop_front();
  }
  summary_ = std::move(summary);
  tree_.take(tree);
  scroll_.cursor = tree_.row_of(at_);
}

void FollowScreen::draw(Canvas& canvas) {
  const int width = canvas.width(), last = canvas.height() - 1;
  canvas.fill({0, 0, 1, width}, U' ', Tone::bar);
  const std::string title = fmt::format(
      " {}   {:.0f} s   {} {}   every {:g} s{}", directory_, summary_.run_s, summary_.interval.ranks.size(),
      summary_.interval.ranks.size() == 1 ? "rank" : "ranks", pause_s_, held_ ? "   HELD" : "");
  canvas.write(0, 0, title, Tone::bar, width);
  if (help_) {
    draw_help(canvas);
  } else {
    int row = draw_sentences(canvas, 1);
    row = draw_ranks(canvas, row, std::max(canvas.height() / 3, 2));
    draw_tree(canvas, row);
  }
  canvas.fill({last, 0, 1, width}, U' ', Tone::bar);
  canvas.write(last, 0,
               fmt::format(" q quit  i {}  s sort by {}  Space {}  Enter open  ? keys",
                           by_interval_ ? "run so far" : "last interval",
                           order_ == FollowTree::Order::time      ? "waiting"
                           : order_ == FollowTree::Order::waiting ? "name"
                                                                  : "time",
                           held_ ? "go on" : "hold"),
               Tone::bar, width);
}

int FollowScreen::draw_sentences(Canvas& canvas, int row) const {
  const int most = std::max(canvas.height() / 5, 2);
  const auto say = [&](const std::string& text, Tone tone) {
    std::istringstream lines(wrap(text, static_cast<std::size_t>(std::max(canvas.width() - 2, 20)), 2));
    std::string line;
    for (int i = 0; i < most && std::getline(lines, line); ++i)
      canvas.write(row++, 1, line, tone, canvas.width() - 1);
  };
  if (!summary_.standstill.empty()) say(capitalized(summary_.standstill) + '.', Tone::warning);
  const follow::Part& now = summary_.interval;
  constexpr double kShortest = 0.05;
  say(now.seconds < kShortest ? "The first interval has begun."
                              : fmt::format("Last {:.1f} s: {}.", now.seconds, now.diagnosis),
      Tone::strong);
  say(fmt::format("Run so far: {}.", summary_.whole.diagnosis), Tone::plain);
  if (const std::string rate = iterations_in_words(summary_); !rate.empty()) say(rate, Tone::plain);
  return row;
}

int FollowScreen::draw_ranks(Canvas& canvas, int row, int most) const {
  canvas.write(row++, 1, "RANKS  W work  . wait  I input, output  z asleep  - no processor", Tone::heading,
               canvas.width() - 1);
  if (static_cast<int>(part().ranks.size()) > most) return draw_many_ranks(canvas, row, most);
  for (const follow::RankRow& rank : part().ranks) draw_rank(canvas, row++, rank);
  return row;
}

/// `rank 3  WWWW..WW  88 % work  assemble at solve.c:41`: the last looks, the newest on the right.
void FollowScreen::draw_rank(Canvas& canvas, int row, const follow::RankRow& rank) const {
  constexpr int kName = 12;
  const int strip = std::clamp(canvas.width() / 4, 8, static_cast<int>(kHistory));
  canvas.write(row, 1, shorten_middle(rank_name(rank), kName - 1, unicode_), Tone::plain, kName);
  if (const auto history = history_.find(rank.key); history != history_.end()) {
    const std::deque<State>& states = history->second.states;
    const auto shown = std::min(states.size(), static_cast<std::size_t>(strip));
    for (std::size_t i = 0; i < shown; ++i)
      put_state(canvas, row, kName + strip - static_cast<int>(shown - i), states[states.size() - shown + i]);
  }
  const auto state = static_cast<std::size_t>(rank.state);
  std::string text = follow::name_of(rank.state);
  if (state < follow::kShares) text += " " + follow::percent(rank.share.at(state)) + "  " + rank.at;
  const int column = kName + strip + 2;
  canvas.write(row, column, text, Tone::plain, canvas.width() - column);
}

/// One letter for each rank; where they are too many, for some ranks next to each other, the worst of their
/// states.
int FollowScreen::draw_many_ranks(Canvas& canvas, int row, int most) const {
  constexpr int kNumber = 8;
  const int letters_per_line = std::max((canvas.width() - kNumber - 1) / 10 * 10, 10);
  const std::vector<follow::RankRow>& ranks = part().ranks;
  const auto count = static_cast<int>(ranks.size());
  int lines = std::max(most, 1);
  const auto per_letter = [&] { return (count + lines * letters_per_line - 1) / (lines * letters_per_line); };
  if (per_letter() > 1 && lines > 1) {
    --lines;
    canvas.write(row++, 1, fmt::format("one letter for {} ranks, the worst of their states", per_letter()),
                 Tone::dim, canvas.width() - 1);
  }
  const int together = per_letter();
  for (int first = 0; first < count; first += letters_per_line * together) {
    canvas.write(row, 1, std::to_string(ranks[static_cast<std::size_t>(first)].rank), Tone::dim, kNumber);
    for (int i = first; i < std::min(count, first + letters_per_line * together); i += together) {
      State state = ranks[static_cast<std::size_t>(i)].state;
      for (int other = i + 1; other < std::min(count, i + together); ++other)
        state = follow::worse(state, ranks[static_cast<std::size_t>(other)].state);
      put_state(canvas, row, kNumber + (i - first) / together, state);
    }
    ++row;
  }
  return row;
}

void FollowScreen::draw_tree(Canvas& canvas, int row) {
  const int width = canvas.width();
  const char* const sign = unicode_ ? "▼" : "*";
  const auto heading = [&](const char* text, bool sorted) {
    return (sorted ? std::string(sign) : "") + text;
  };
  const bool by_time = order_ == FollowTree::Order::time;
  canvas.write(row, 0,
               align_right(heading("now", by_time && by_interval_), 7) +
                   align_right(heading("run", by_time && !by_interval_), 8) +
                   align_right(heading("waits", order_ == FollowTree::Order::waiting), 8) +
                   "  CALL PATHS OF ALL RANKS, " +
                   (by_interval_ ? "hottest now first" : "hottest of the run first"),
               Tone::heading, width);
  ++row;
  const int height = std::max(canvas.height() - 1 - row, 0);
  const auto& rows = tree_.rows();
  scroll_.fit(static_cast<int>(rows.size()), height);
  for (int line = 0; line < height && scroll_.top + line < static_cast<int>(rows.size()); ++line) {
    const auto index = static_cast<std::size_t>(scroll_.top) + static_cast<std::size_t>(line);
    const FollowTree::Row& shown = rows[index];
    const FollowNode& node = *shown.node;
    const auto number = [&](int column, double share, Tone tone) {
      canvas.write(row + line, column, align_right(fmt::format("{:.1f} %", share * 100), 7), tone, 7);
    };
    number(0, node.interval, heat(node.interval));
    number(8, node.whole, heat(node.whole));
    if (node.wait > 0) number(16, node.wait, Tone::dim);
    const int indent = std::min(static_cast<int>(shown.depth), std::max((width - kNumbers) / 3, 0));
    const char32_t opens = !shown.opens ? U' '
                           : shown.open ? (unicode_ ? U'▾' : U'v')
                                        : (unicode_ ? U'▸' : U'+');
    canvas.put(row + line, kNumbers + indent, opens, Tone::dim);
    const int column = kNumbers + indent + 2;
    canvas.write(row + line, column, node.name, Tone::plain, width - column);
    if (scroll_.top + line == scroll_.cursor) canvas.select(row + line, 0, width);
  }
}

void FollowScreen::draw_help(Canvas& canvas) const {
  int row = 2;
  for (const auto& [keys, meaning] : kFollowKeys) {
    canvas.write(row, 2, keys, Tone::key, 16);
    canvas.write(row++, 18, meaning, Tone::plain, canvas.width() - 18);
  }
  canvas.write(++row, 2, "When the run ends it is merged, and the browser shows it.", Tone::plain,
               canvas.width() - 2);
}

void FollowScreen::open(bool open) {
  const auto& rows = tree_.rows();
  const auto row = static_cast<std::size_t>(scroll_.cursor);
  if (row >= rows.size()) return;
  if (!open && !rows[row].open && rows[row].node->parent != 0) {
    at_ = rows[row].node->parent;
  } else {
    tree_.open(at_ = rows[row].node->id, open);
  }
  scroll_.cursor = tree_.row_of(at_);
}

void FollowScreen::sort(FollowTree::Order order, bool by_interval) {
  order_ = order;
  by_interval_ = by_interval;
  tree_.sort(order, by_interval);
  scroll_.cursor = tree_.row_of(at_);
}

void FollowScreen::handle(const Event& event) {
  if (std::exchange(help_, false)) return;  // any key closes it
  if (event.is(U'q') || (event.key == Key::function && event.number == 10)) finished_ = true;
  if (event.is(U'?') || (event.key == Key::function && event.number == 1)) help_ = true;
  if (event.is(U'i')) sort(order_, !by_interval_);
  if (event.is(U's')) sort(static_cast<FollowTree::Order>((static_cast<int>(order_) + 1) % 3), by_interval_);
  if (event.is(U' ')) {
    held_ = !held_;
    return;
  }
  const Event move = navigation(event);
  const auto& rows = tree_.rows();
  const auto row = static_cast<std::size_t>(scroll_.cursor);
  if (move.key == Key::enter) open(row < rows.size() && !rows[row].open);
  if (move.key == Key::right) open(true);
  if (move.key == Key::left) open(false);
  if (scroll_.move(move, static_cast<int>(rows.size())) &&
      static_cast<std::size_t>(scroll_.cursor) < rows.size())
    at_ = rows[static_cast<std::size_t>(scroll_.cursor)].node->id;
}

}  // namespace culprit::viewer::tui
