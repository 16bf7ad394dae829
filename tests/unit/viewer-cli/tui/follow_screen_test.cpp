#include "tui/follow_screen.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace culprit::viewer::tui {
namespace {

using follow::State;

/// A run with one hot function below main and a call that waits.
class Example {
 public:
  Example() {
    const auto name = [this](const char* text) {
      return std::vector<follow::Step>{
          {.procedure = code_.name(text), .file = code_.file("/src/a.c"), .line = 5}};
    };
    const follow::Place root = tree_.enter(tree_.root(), name("<program root>"));
    const follow::Place main = tree_.enter(root, name("main"));
    tree_.add(tree_.enter(main, name("assemble")), {.time = 600, .wait = 0}, true);
    const follow::Place solve = tree_.enter(main, name("solve"));
    tree_.add(tree_.enter(solve, name("MPI_Barrier")), {.time = 400, .wait = 400}, false);
  }
  void give(FollowScreen& screen, int ranks = 2) const {
    follow::Summary summary;
    summary.run_s = 61;
    summary.interval.seconds = 2;
    summary.interval.diagnosis = "rank 1 works in assemble at a.c:5 while rank 0 waits";
    for (int rank = 0; rank < ranks; ++rank) {
      follow::RankRow row;
      row.rank = rank;
      row.process = "here:" + std::to_string(rank);
      row.key = 1000U + static_cast<std::uint64_t>(rank);
      row.state = rank == 1 ? State::work : State::wait;
      row.share[rank == 1 ? 0 : 1] = 0.9;
      row.at = "somewhere";
      summary.interval.ranks.push_back(row);
    }
    summary.whole = summary.interval;
    screen.take(summary, tree_);
  }

 private:
  follow::Code code_;
  follow::LiveTree tree_{code_};
};

std::string text_of(FollowScreen& screen, int height = 24, int width = 80) {
  Canvas canvas(height, width);
  screen.draw(canvas);
  std::string text;
  for (int row = 0; row < height; ++row) text += canvas.line(row) + '\n';
  return text;
}

Event key(char32_t letter) {
  Event event;
  event.key = Key::letter;
  event.letter = letter;
  return event;
}

}  // namespace

TEST_CASE("the screen of a run that goes on says who works and what is hot") {
  const Example example;
  FollowScreen screen("run1", 2, false);
  example.give(screen);
  const std::string text = text_of(screen);
  CHECK(text.find("Last 2.0 s: rank 1 works in assemble") != std::string::npos);
  CHECK(text.find("rank 0") != std::string::npos);
  CHECK(text.find("wait 90 %  somewhere") != std::string::npos);
  CHECK(text.find("100.0 %  60.0 %") != std::string::npos);  // assemble: now and of the run
  CHECK(text.find("assemble at a.c:5") < text.find("solve at a.c:5"));
}

TEST_CASE("keys change the part, hold the screen, close nodes and quit") {
  const Example example;
  FollowScreen screen("run1", 2, true);
  example.give(screen);
  screen.handle(key(U'i'));
  CHECK(text_of(screen).find("hottest of the run first") != std::string::npos);
  screen.handle(key(U' '));
  CHECK(text_of(screen).find("HELD") != std::string::npos);
  screen.handle(key(U' '));
  Event enter;
  enter.key = Key::enter;
  screen.handle(enter);  // the root
  CHECK(text_of(screen).find("assemble at a.c:5  ") == std::string::npos);
  screen.handle(key(U'?'));
  CHECK(text_of(screen).find("these keys") != std::string::npos);
  screen.handle(key(U'x'));
  screen.handle(key(U's'));
  screen.handle(key(U'?'));
  screen.handle(key(U'q'));  // closes the help
  CHECK(text_of(screen).find("these keys") == std::string::npos);
  CHECK_FALSE(screen.finished());
  screen.handle(key(U'q'));
  CHECK(screen.finished());
}

TEST_CASE("many ranks are one letter each, on any size of screen") {
  const Example example;
  FollowScreen screen("run1", 2, true);
  example.give(screen, 64);
  CHECK(text_of(screen).find(".W..............................................................") !=
        std::string::npos);
  for (const int height : {1, 3, 10, 60}) {
    for (const int width : {1, 20, 200}) text_of(screen, height, width);
  }
}

TEST_CASE("where ranks share letters none is left out, and the one that works is seen") {
  const Example example;
  FollowScreen screen("run1", 2, true);
  example.give(screen, 4096);
  const std::string text = text_of(screen);  // 7 lines of 70 letters
  CHECK(text.find("one letter for 9 ranks, the worst of their states") != std::string::npos);
  CHECK(text.find(" 0      W......") != std::string::npos);
  CHECK(text.find(" 3780   ....") != std::string::npos);
}

}  // namespace culprit::viewer::tui
