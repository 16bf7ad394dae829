// Two runs compared: which scopes correspond, what changed, and that changes add up.
#include "views/difference.hpp"

#include "views/compared.hpp"
#include "views/derived.hpp"
#include "views/sample_experiment.hpp"
#include "views/shown.hpp"
#include "views/similarity.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::views::testing::difference_test {
namespace {

using database::ContextId;
using database::ContextKind;

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A run that is written down as a tree; statements hold its time.
struct Run {
  SampleExperiment sample{{"REALTIME", "idleness"}};
  ContextId program = 0;
  std::uint32_t ranks = 1;

  explicit Run(std::uint32_t of_ranks = 1, const std::string& path = "/opt/app") : ranks(of_ranks) {
    const std::uint32_t role = sample.add_role("main");
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      sample.add_location(static_cast<std::int32_t>(rank), 0, role);
    sample.build().run.program = path;
    program = sample.add(0, {ContextKind::root, "<program root>", "", 0, ""});
  }
  ContextId procedure(ContextId parent, const std::string& name, std::uint32_t line = 10,
                      const std::string& file = "/src/app.c", const std::string& module = "/opt/app") {
    const ContextId call = sample.add(parent, {ContextKind::call, "", file, line + 1000, module});
    return sample.add(call, {ContextKind::procedure, name, file, line, module});
  }
  ContextId inlined(ContextId parent, const std::string& name, std::uint32_t line = 10) {
    return sample.add(parent, {ContextKind::inlined, name, "/src/app.c", line, "/opt/app"});
  }
  ContextId loop(ContextId parent, std::uint32_t line, const std::string& file = "/src/app.c") {
    return sample.add(parent, {ContextKind::loop, "", file, line, "/opt/app"});
  }
  /// Seconds on every rank.
  Run& spend(ContextId parent, std::uint64_t seconds, bool idle = false) {
    const ContextId line = sample.add(parent, {ContextKind::statement, "", "/src/app.c", 77, "/opt/app"});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      sample.set(line, 0, rank, seconds * kSecond);
      sample.set(line, 1, rank, idle ? seconds * kSecond : 0);
    }
    return *this;
  }
};

struct Compared {
  Figures a, b;
  Difference difference;

  Compared(Run& first, Run& second, const std::string& metric = "REALTIME:sum (I)")
      : a((first.sample.finish(), first.sample)),
        b((second.sample.finish(), second.sample)),
        difference(a, find_column(first.sample.experiment(), metric), b,
                   find_column(second.sample.experiment(), metric)) {}

  /// The only scope with such a path of labels from below `<program root>`, as `main/solve`.
  [[nodiscard]] const ComparedScope& at(const std::string& path) const {
    const ComparedScope* found = nullptr;
    for (std::uint32_t scope = 0; scope < difference.scopes().size(); ++scope) {
      if (path_of(scope) != path) continue;
      INFO(path);
      REQUIRE(found == nullptr);
      found = &difference.scopes()[scope];
    }
    INFO(path);
    REQUIRE(found != nullptr);
    return *found;
  }
  /// In the tree of the comparison, where levels that only one run has hold nothing of the other's.
  [[nodiscard]] std::string path_of(std::uint32_t scope) const {
    std::string path;
    for (std::uint32_t at = scope; at > 1; at = difference.scopes()[at].parent)
      path = label(difference.scopes()[at].frame()) + (path.empty() ? "" : '/' + path);
    return path;
  }
};

bool in_both(const ComparedScope& scope) {
  return scope.frame_a && scope.frame_b;
}

}  // namespace

TEST_CASE("Scopes are matched by their paths although lines, directories and versions have moved") {
  Run before(1, "/old/bin/app");
  const ContextId main = before.procedure(before.program, "main", 10, "/old/app.c", "/old/bin/app");
  const ContextId solve = before.procedure(main, "solve", 30, "/old/app.c", "/old/bin/app");
  before.spend(solve, 6);
  before.spend(before.procedure(main, "exp", 0, "", "/lib/libm.so.6"), 1);
  Run after(1, "/new/app2");
  const ContextId main2 = after.procedure(after.program, "main", 12, "/new/app.c", "/new/app2");
  const ContextId solve2 = after.procedure(main2, "solve", 44, "/new/app.c", "/new/app2");
  after.spend(solve2, 4);
  after.spend(after.procedure(main2, "solve", 44, "/new/app.c", "/new/app2"), 1);  // a second call site
  after.spend(after.procedure(main2, "exp", 0, "", "/usr/lib/libm.so.7"), 2);
  const Compared compared(before, after);
  const ComparedScope& scope = compared.at("main/solve");
  CHECK(scope.a == 6);
  CHECK(scope.b == 5);
  CHECK(scope.change() == -1);
  CHECK(*Difference::ratio(scope) == Approx(5.0 / 6));
  CHECK(compared.at("main/exp").change() == 1);
  CHECK(compared.difference.scopes().size() == 5);
  CHECK(compared.difference.path(4).size() == 4);
}

TEST_CASE("New and gone scopes have figures in one run only") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.procedure(main, "sort"), 3);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.procedure(main2, "hash"), 2);
  const Compared compared(before, after);
  CHECK_FALSE(compared.at("main/sort").frame_b);
  CHECK(compared.at("main/sort").change() == -3);
  CHECK_FALSE(compared.at("main/hash").frame_a);
  CHECK(compared.at("main/hash").change() == 2);
  CHECK_FALSE(Difference::ratio(compared.at("main/hash")));
  CHECK(compared.difference.scopes()[0].change() == -1);
}

TEST_CASE("Overloads and templates match by their bare names where no better match is there") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.procedure(main, "solve<float>(int)"), 3);
  before.spend(before.procedure(main, "norm(float)"), 1);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.procedure(main2, "solve<double>(int)"), 5);
  after.spend(after.procedure(main2, "norm(float)"), 1);
  after.spend(after.procedure(main2, "norm(double)"), 1);
  const Compared compared(before, after);
  CHECK(compared.at("main/solve<double>(int)").a == 3);
  CHECK(compared.at("main/norm(float)").a == 1);
  CHECK_FALSE(compared.at("main/norm(double)").frame_a);
  CHECK(bare_name("a<b<c> >::f(int)") == "a::f");
  CHECK(bare_name("operator<") == "operator<");
  CHECK(bare_name("<program root>") == "<program root>");
}

TEST_CASE("A procedure that is now inlined is the same") {
  Run before;
  before.spend(before.procedure(before.procedure(before.program, "main"), "dot"), 3);
  Run after;
  after.spend(after.inlined(after.procedure(after.program, "main"), "dot"), 2);
  const Compared compared(before, after);
  CHECK(in_both(compared.at("main/dot")));
  CHECK(compared.at("main/dot").change() == -1);
}

TEST_CASE("A level that only one run has is looked through and keeps its own cost") {
  const bool swapped = GENERATE(false, true);
  Run with;
  const ContextId main = with.procedure(with.program, "main");
  const ContextId wrapper = with.procedure(main, "precondition");
  with.spend(wrapper, 1);
  const ContextId loop = with.loop(wrapper, 20);
  with.spend(with.procedure(loop, "spmv"), 8);
  with.spend(with.procedure(loop, "log"), 1);
  Run without;
  const ContextId main2 = without.procedure(without.program, "main");
  without.spend(without.procedure(main2, "spmv"), 5);
  const Compared compared = swapped ? Compared(without, with) : Compared(with, without);
  const double sign = swapped ? -1 : 1;
  const ComparedScope& spmv = compared.at("main/spmv");
  CHECK(in_both(spmv));
  CHECK(spmv.change() * sign == -3);
  const ComparedScope& level = compared.at("main/precondition");
  CHECK_FALSE(in_both(level));
  CHECK(level.change() * sign == -2);  // its own second, and log
  CHECK(compared.at("main").change() * sign == -5);
  CHECK_FALSE(in_both(compared.at("main/precondition/loop at app.c:20/log")));
}

TEST_CASE("A procedure in which something common is a minor part is no level") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  const ContextId output = before.procedure(main, "output");
  before.spend(output, 9);
  before.spend(before.procedure(output, "malloc"), 1);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.procedure(main2, "malloc"), 1);
  const Compared compared(before, after);
  CHECK_FALSE(compared.at("main/malloc").frame_a);
  CHECK(compared.at("main/output").a == 10);
}

TEST_CASE("What was beside a loop and in it belongs together where the other run has no loop") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.procedure(main, "step"), 1);
  before.spend(before.procedure(before.loop(main, 12), "step"), 7);
  Run after;
  after.spend(after.procedure(after.procedure(after.program, "main"), "step"), 8);
  const Compared compared(before, after);
  CHECK(compared.at("main/step").a == 8);
  CHECK(compared.at("main/step").change() == 0);
}

TEST_CASE("A renamed procedure is known by what it contains") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  const ContextId old = before.procedure(main, "cg_iterate");
  before.spend(before.procedure(old, "spmv"), 5);
  before.spend(before.procedure(old, "dot"), 2);
  before.spend(before.procedure(main, "setup"), 1);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  const ContextId renamed = after.procedure(main2, "pipelined_cg");
  after.spend(after.procedure(renamed, "spmv"), 4);
  after.spend(after.procedure(renamed, "dot"), 2);
  after.spend(after.procedure(main2, "teardown"), 1);
  const Compared compared(before, after);
  const ComparedScope& scope = compared.at("main/pipelined_cg");
  REQUIRE(in_both(scope));
  CHECK(scope.frame_a->name == "cg_iterate");
  CHECK(scope.change() == -1);
  CHECK(compared.at("main/pipelined_cg/spmv").change() == -1);
  // Leaves of different names have nothing in common.
  CHECK_FALSE(in_both(compared.at("main/setup")));
  CHECK_FALSE(in_both(compared.at("main/teardown")));
}

TEST_CASE("Loops are matched by what they contain, else by order, and lines may shift") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.loop(main, 20), 1);
  before.spend(before.loop(main, 30), 2);
  before.spend(before.procedure(before.loop(main, 40), "work"), 3);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.loop(main2, 30), 1);
  after.spend(after.loop(main2, 40), 2);
  after.spend(after.procedure(after.loop(main2, 50), "work"), 3);
  const Compared compared(before, after);
  for (const ComparedScope& scope : compared.difference.scopes()) {
    CHECK(in_both(scope));
    CHECK(scope.change() == 0);
  }
}

TEST_CASE("A loop that was put before others does not shift their pairs") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.procedure(before.loop(main, 20), "f"), 1);
  before.spend(before.procedure(before.loop(main, 30), "g"), 2);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.procedure(after.loop(main2, 20), "e"), 4);
  after.spend(after.procedure(after.loop(main2, 25), "f"), 1);
  after.spend(after.procedure(after.loop(main2, 35), "g"), 2);
  const Compared compared(before, after);
  CHECK_FALSE(compared.at("main/loop at app.c:20").frame_a);
  CHECK(compared.at("main/loop at app.c:25").change() == 0);
  CHECK(compared.at("main/loop at app.c:35/g").change() == 0);
}

TEST_CASE(
    "Scaling loss is what exceeds the ideal: the same sum with strong, the same per rank with weak scaling") {
  Run few(4);
  const ContextId main = few.procedure(few.program, "main");
  few.spend(few.procedure(main, "work"), 16);       // 64 rank-seconds
  few.spend(few.procedure(main, "wait"), 1, true);  // 4
  Run strong(16);
  const ContextId main2 = strong.procedure(strong.program, "main");
  strong.spend(strong.procedure(main2, "work"), 4);        // 64: ideal
  strong.spend(strong.procedure(main2, "wait"), 4, true);  // 64: 60 too many
  const Compared compared(few, strong);
  CHECK(likely_scaling(compared.a, compared.b).scaling == Scaling::strong);
  CHECK(likely_scaling(compared.a, compared.b).work_ratio == 1);
  const Difference& difference = compared.difference;
  CHECK(*difference.scaling_loss(compared.at("main/work"), Scaling::strong) == 0);
  CHECK(*difference.scaling_loss(compared.at("main/wait"), Scaling::strong) == 60.0 / 128);
  CHECK(*difference.scaling_loss(compared.at("main/work"), Scaling::weak) == (64 - 4 * 64) / 128.0);
  CHECK(*difference.scaling_loss(compared.at("main/wait"), Scaling::weak) == (64 - 4 * 4) / 128.0);
}

TEST_CASE("Of some ranks, the ideal is what as many ranks of the second run would have") {
  Run few(4);
  few.spend(few.procedure(few.program, "main"), 16);  // 64 rank-seconds
  Run many(16);
  many.spend(many.procedure(many.program, "main"), 4);  // 64
  few.sample.finish();
  many.sample.finish();
  const std::vector<std::uint32_t> metrics = {0};
  const Figures one(few.sample, {2}, metrics);
  const Figures two(many.sample, {0, 1}, metrics);
  const Difference single(one, find_column(few.sample.experiment(), "REALTIME"), two,
                          find_column(many.sample.experiment(), "REALTIME"));
  CHECK(single.total_a() == 16);
  CHECK(single.total_b() == 8);
  const ComparedScope& main = single.scopes().back();
  CHECK(label(main.frame()) == "main");
  // Strong: a fourth of a rank's time, on two ranks. Weak: a rank's time, on two ranks.
  CHECK(*single.scaling_loss(main, Scaling::strong) == 0);
  CHECK(*single.scaling_loss(main, Scaling::weak) == (8 - 32) / 8.0);
}

TEST_CASE("A formula is evaluated on either run's figures, and its values need not add up") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.procedure(main, "work"), 6);
  before.spend(before.procedure(main, "wait"), 2, true);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.procedure(main2, "work"), 5);
  after.spend(after.procedure(main2, "rest"), 0);
  before.sample.finish();
  after.sample.finish();
  const auto column = [](const Run& run) {
    const database::Contents& experiment = run.sample.experiment();
    const std::vector<Column> share = {define_column(experiment, "share = $idleness / $REALTIME", {}, {})};
    return define_column(experiment, "percent = 100 * $share", {}, share);
  };
  const Figures a(before.sample);
  const Figures b(after.sample);
  const Difference difference(a, column(before), b, column(after));
  CHECK(difference.total_a() == 25);
  CHECK(difference.total_b() == 0);
  CHECK(difference.whole() == 1);
  for (const ComparedScope& scope : difference.scopes()) {
    const std::string name = label(scope.frame());
    CHECK_FALSE(difference.scaling_loss(scope, Scaling::strong));
    if (name == "wait") {
      CHECK(scope.a == 100);
      CHECK(std::isnan(scope.b));  // 0 / 0
      CHECK(scope.extent() == -1);
      CHECK_FALSE(Difference::ratio(scope));
      CHECK(scope.weight == 2.0 / 8);
    } else if (name == "main") {
      CHECK(scope.change() == -25);
      CHECK(scope.weight == 1);
    }
  }
  // What has no value is last among its siblings; small is what has little of the time.
  views::Compared view(difference);
  ShowOptions options;
  options.sort = views::Compared::column(Change::change);
  options.size = views::Compared::weight();
  options.min_percent = 30;
  CHECK(show(view, options, difference.whole()).below_minimum > 0);
}

TEST_CASE("Work is time outside of waits; where processors lack, that on processors") {
  const auto run = [](std::uint32_t ranks, std::uint64_t wall, std::uint64_t processor, bool lacking) {
    auto sample = std::make_unique<SampleExperiment>(std::vector<std::string>{"REALTIME", "idleness", "CPU"});
    const std::uint32_t role = sample->add_role("main");
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      sample->add_location(static_cast<std::int32_t>(rank), 0, role);
    sample->build().run.ranks = ranks;
    if (lacking)
      sample->build().machine.suspects.push_back(
          {.kind = database::MachineKind::oversubscribed, .processors = 2, .locations = {0}});
    const ContextId program = sample->add(0, {ContextKind::root, "<program root>", "", 0, ""});
    const ContextId main =
        sample->add(program, {ContextKind::procedure, "main", "/src/app.c", 3, "/opt/app"});
    const ContextId line = sample->add(main, {ContextKind::statement, "", "/src/app.c", 7, "/opt/app"});
    const ContextId wait = sample->add(main, {ContextKind::procedure, "MPI_Barrier", "", 0, "/lib/libmpi.so",
                                              database::kFrontier | database::kInWait});
    const ContextId spin =
        sample->add(wait, {ContextKind::statement, "", "", 0, "/lib/libmpi.so", database::kInWait});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      sample->set(line, 0, rank, wall * kSecond);
      sample->set(line, 2, rank, processor * kSecond);
      sample->set(spin, 0, rank, 9 * kSecond);  // spins: processor time that is no work, and not idle either
      sample->set(spin, 2, rank, 9 * kSecond);
    }
    sample->finish();
    return sample;
  };
  const auto few = run(2, 8, 8, false);
  const auto many = run(4, 8, 4, true);  // the same work in all, but two ranks per processor
  const LikelyScaling shared = likely_scaling(Figures(*few), Figures(*many));
  CHECK(shared.scaling == Scaling::strong);
  CHECK(shared.work_ratio == 1);
  CHECK(shared.of_processors);

  const auto more = run(4, 8, 2, false);  // the same work on each, and little of it on processors
  const LikelyScaling grown = likely_scaling(Figures(*few), Figures(*more));
  CHECK(grown.scaling == Scaling::weak);
  CHECK(grown.work_ratio == 2);
  CHECK_FALSE(grown.of_processors);
}

TEST_CASE("Runs whose work grew with the ranks are taken for weak scaling, and means show the same loss") {
  const auto run = [](std::uint32_t ranks, std::uint64_t work) {
    auto made = std::make_unique<Run>(ranks);
    made->spend(made->procedure(made->program, "main"), work);
    return made;
  };
  const auto few = run(4, 16);
  const auto many = run(16, 17);
  const Compared sums(*few, *many);
  CHECK(likely_scaling(sums.a, sums.b).scaling == Scaling::weak);
  CHECK(likely_scaling(sums.b, sums.a).scaling == Scaling::weak);
  const auto few2 = run(4, 16);
  const auto many2 = run(16, 17);
  const Compared means(*few2, *many2, "REALTIME:mean (I)");
  for (const Scaling scaling : {Scaling::strong, Scaling::weak}) {
    CHECK(*sums.difference.scaling_loss(sums.at("main"), scaling) ==
          Approx(*means.difference.scaling_loss(means.at("main"), scaling)));
  }
  CHECK(*sums.difference.scaling_loss(sums.at("main"), Scaling::weak) == Approx(1.0 / 17));
}

TEST_CASE("An exclusive metric is compared as views show it") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.loop(main, 20), 3);
  before.spend(before.procedure(main, "f"), 5);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.loop(main2, 20), 4);
  after.spend(after.procedure(main2, "f"), 1);
  const Compared compared(before, after, "REALTIME:sum (E)");
  CHECK(compared.at("main").a == 3);
  CHECK(compared.at("main").b == 4);
  CHECK(compared.at("main/f").change() == -4);
}

TEST_CASE("The largest change comes first; small branches, depth and focus leave out what they say") {
  Run before;
  const ContextId main = before.procedure(before.program, "main");
  before.spend(before.procedure(main, "small"), 50);
  const ContextId even = before.procedure(main, "even");
  before.spend(before.procedure(even, "up"), 10);
  before.spend(before.procedure(even, "down"), 20);
  before.spend(before.procedure(main, "large"), 20);
  Run after;
  const ContextId main2 = after.procedure(after.program, "main");
  after.spend(after.procedure(main2, "small"), 51);
  const ContextId even2 = after.procedure(main2, "even");
  after.spend(after.procedure(even2, "up"), 20);
  after.spend(after.procedure(even2, "down"), 10);
  after.spend(after.procedure(main2, "large"), 5);
  const Compared compared(before, after);
  views::Compared view(compared.difference);
  const auto show_with = [&](const ShowOptions& options) {
    return show(view, options, compared.difference.whole());
  };
  const auto labels = [&](const ShowOptions& options) {
    std::string text;
    const std::function<void(const std::vector<ShownNode>&)> write = [&](const auto& list) {
      for (const ShownNode& shown : list) {
        text += label(view.frame(shown.node)) + ' ';
        write(shown.children);
      }
    };
    write(show_with(options).roots);
    return text;
  };
  ShowOptions plain;
  plain.sort = views::Compared::column(Change::change);
  plain.size = views::Compared::weight();
  CHECK(labels(plain) == "<run> <program root> main large small even down up ");
  ShowOptions options = plain;
  options.min_percent = 5;
  CHECK(labels(options) == "<run> <program root> main large even down up ");  // even: +10 and -10
  CHECK(show_with(options).below_minimum == 1);
  options = plain;
  options.depth = 2;
  CHECK(labels(options) == "<run> <program root> main ");
  options = plain;
  options.focus = "^up$";
  CHECK(labels(options) == "<run> <program root> main even up ");
  options.focus = "(";
  CHECK_THROWS_AS(show_with(options), BadFocus);
}

namespace {

int below(int bound) {
  return *rc::gen::inRange(0, bound);
}

/// Random calls, loops and inlined code; few names, so that much matches by accident, on all levels.
void grow(Run& run, ContextId parent, int depth) {
  const int children = below(4);
  for (int child = 0; child < children; ++child) {
    const int choice = depth > 6 ? 0 : below(6);
    const std::string name(1, static_cast<char>('a' + below(4)));
    if (choice <= 1) {
      run.spend(parent, static_cast<std::uint64_t>(below(5)));
    } else if (choice == 2) {
      grow(run,
           run.loop(parent, static_cast<std::uint32_t>(20 + below(5)),
                    below(3) == 0 ? "/src/other.h" : "/src/app.c"),
           depth + 1);
    } else if (choice == 3) {
      grow(run, run.inlined(parent, name), depth + 1);
    } else {
      grow(run, run.procedure(parent, name, static_cast<std::uint32_t>(below(3))), depth + 1);
    }
  }
}

std::unique_ptr<Run> random_run() {
  auto run = std::make_unique<Run>(static_cast<std::uint32_t>(1 + below(2)));
  grow(*run, run->procedure(run->program, "main"), 0);
  return run;
}

}  // namespace

TEST_CASE("Changes add up: every scope's to its parent's, and the root's to the difference of the totals") {
  CHECK(rc::check([] {
    const auto before = random_run();
    const auto after = random_run();
    const Compared compared(*before, *after);
    const std::vector<ComparedScope>& scopes = compared.difference.scopes();
    RC_ASSERT(scopes[0].a == compared.difference.total_a());
    RC_ASSERT(scopes[0].b == compared.difference.total_b());
    RC_ASSERT(scopes[0].change() == compared.difference.total_b() - compared.difference.total_a());
    for (std::uint32_t scope = 0; scope < scopes.size(); ++scope) {
      double a = scopes[scope].own_a;
      double b = scopes[scope].own_b;
      for (const std::uint32_t child : scopes[scope].children) {
        RC_ASSERT(child > scope);
        RC_ASSERT(scopes[child].parent == scope);
        a += scopes[child].a;
        b += scopes[child].b;
      }
      RC_ASSERT(a == scopes[scope].a);
      RC_ASSERT(b == scopes[scope].b);
      RC_ASSERT(scopes[scope].own_a >= 0);
      RC_ASSERT(scopes[scope].own_b >= 0);
    }
  }));
}

TEST_CASE("Every scope of either run is in exactly one result") {
  CHECK(rc::check([] {
    const auto before = random_run();
    const auto after = random_run();
    const Compared compared(*before, *after);
    const Column column = find_column(before->sample.experiment(), "REALTIME");
    const FoldedTree a(compared.a, column);
    const FoldedTree b(compared.b, column);
    std::vector<int> seen_a(a.scopes().size(), 0);
    std::vector<int> seen_b(b.scopes().size(), 0);
    for (const MatchedScope& scope : match(a, b)) {
      for (const std::uint32_t member : scope.a) ++seen_a[member];
      for (const std::uint32_t member : scope.b) ++seen_b[member];
      RC_ASSERT(!scope.a.empty() || !scope.b.empty());
    }
    RC_ASSERT(std::all_of(seen_a.begin(), seen_a.end(), [](int times) { return times == 1; }));
    RC_ASSERT(std::all_of(seen_b.begin(), seen_b.end(), [](int times) { return times == 1; }));
  }));
}

TEST_CASE("A run compared with itself has not changed anywhere") {
  CHECK(rc::check([] {
    const auto run = random_run();
    run->sample.finish();
    const Figures figures(run->sample);
    const Column column = find_column(run->sample.experiment(), "REALTIME");
    const Difference difference(figures, column, figures, column);
    for (const ComparedScope& scope : difference.scopes()) {
      RC_ASSERT(scope.change() == 0);
      RC_ASSERT(scope.frame_a.has_value() && scope.frame_b.has_value());
    }
  }));
}

}  // namespace culprit::views::testing::difference_test
