#include "findings/idleness_parts.hpp"

#include "findings/mpi_calls.hpp"
#include "measurement/runtime_notes.hpp"
#include "text/prose.hpp"
#include "viewer-cli/run.hpp"
#include "views/solver_sample.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::viewer::testing::idleness_parts_test {
namespace {

std::string plain(const IdlenessParts& parts) {
  return wrap(idleness_parts_phrase(parts), 1000);
}

/// The sum of the numbers in a phrase.
double sum_of(const std::string& text) {
  double sum = 0;
  std::string digits;
  for (const char letter : text + '.') {
    if ((letter >= '0' && letter <= '9') || letter == '.') {
      digits += letter;
    } else if (!digits.empty() && letter != ' ') {
      sum += std::stod(digits);
      digits.clear();
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("waiting is divided by where it is waited, and waits at roots are for late ranks") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  e.trace.traced = 8;
  // Nothing waits in the set-up, however long that takes.
  e.communication.calls = {{.context = solver.allreduce,
                            .threads = 8,
                            .calls = 1,
                            .ns = 10 * kSecond,
                            .messages = 1,
                            .message_bytes = 1 << 20,
                            .smallest = 1 << 20,
                            .largest = 1 << 20},
                           {.context = solver.setup, .threads = 8, .calls = 1, .ns = 5000 * kSecond}};
  e.waits = {{.pattern = database::WaitPattern::wait_at_root,
              .location = 0,
              .context = solver.allreduce,
              .exact = true,
              .ns = 3 * kSecond}};
  const views::Figures figures(solver.sample);
  const Diagnosis diagnosis = diagnose(figures);
  const IdlenessParts parts = divide_idleness(figures, diagnosis, {});
  CHECK(parts.late_s == Approx(3));
  CHECK(parts.library_s == Approx(0).margin(1e-9));
  CHECK(parts.transfer_s == Approx(diagnosis.idle_s - 3));
  CHECK(parts.sum() == Approx(diagnosis.idle_s));
}

TEST_CASE("waiting for a rank that reads or writes is for a late rank") {
  const views::testing::SolverSample solver;
  const views::Figures figures(solver.sample);
  const Diagnosis diagnosis = diagnose(figures);
  const IdlenessParts parts =
      divide_idleness(figures, diagnosis, {.io_s = 400, .io_waited_s = 300, .lasting_s = 200});
  CHECK(parts.late_s == Approx(500));
  CHECK(parts.undivided_s == Approx(diagnosis.idle_s - 500));
}

TEST_CASE("without time lines, ranks without a processor may have waited for late ones") {
  views::testing::SolverSample solver;
  const auto parts_with = [&](std::uint32_t traced) {
    database::Experiment& e = solver.sample.build();
    e.trace.traced = traced;
    // It lacks CPU time where it works, too: asleep.
    e.machine.threads = {{.location = 0,
                          .ran_ns = 400 * kSecond,
                          .runnable_ns = 100 * kSecond,
                          .lived_ns = 1000 * kSecond,
                          .sampled_ns = 1000 * kSecond,
                          .idle_ns = 200 * kSecond,
                          .cpu_ns = 400 * kSecond,
                          .work_ns = 800 * kSecond,
                          .work_cpu_ns = 300 * kSecond}};
    const views::Figures figures(solver.sample);
    return divide_idleness(figures, diagnose(figures), {});
  };
  const IdlenessParts profile = parts_with(0);
  CHECK(profile.no_processor_s == 0);
  CHECK(profile.perhaps_no_processor_s == Approx(100));
  CHECK(profile.undivided_s >= 100);
  CHECK(parts_with(8).no_processor_s == Approx(100));
  CHECK(parts_with(8).perhaps_no_processor_s == 0);
  CHECK(plain({.late_s = 3, .undivided_s = 12, .perhaps_no_processor_s = 9.1}) ==
        "12.0 s of a kind that only hpcrun-lite --trace shows (up to 9.1 s of it without a processor) and "
        "3.0 s "
        "for late ranks");
}

TEST_CASE("waits for partitioned messages are of no known kind, though there are time lines") {
  views::testing::SolverSample solver;
  const auto build = [&](const char* init) {
    database::Experiment& e = solver.sample.build();
    e.trace.traced = 8;
    e.strings[e.contexts[solver.allreduce].name] = "MPI_Start";
    e.communication.calls = {{.context = solver.allreduce, .threads = 8, .calls = 3, .ns = kSecond}};
    e.strings[e.contexts[solver.setup].name] = init == nullptr ? "setup" : init;
    if (init == nullptr) return;
    e.communication.calls.push_back({.context = solver.setup, .threads = 8, .calls = 1, .ns = kSecond});
  };
  const auto unmatched = [&] { return has_unmatched_requests(views::Figures(solver.sample).experiment()); };
  build("MPI_Send_init");
  CHECK_FALSE(unmatched());
  build("MPI_Psend_init");
  CHECK(unmatched());
  build(nullptr);
  CHECK_FALSE(unmatched());  // the requests were made before sampling began
  solver.sample.build().run.notes = {measurement::kPartitionedMessages};
  CHECK(unmatched());
  const views::Figures figures(solver.sample);
  const IdlenessParts parts = divide_idleness(figures, diagnose(figures), {});
  CHECK(parts.undivided_s == Approx(parts.sum()));
  CHECK(waiting_of_report_phrase(parts, {}, true).ends_with("partitioned messages are not listed."));
  CHECK(unmatched_requests_phrase(figures.experiment(), "the path").ends_with("the path may be wrong."));
}

TEST_CASE("what ranks wait in receives is for another world, where they started one") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  e.trace.traced = 8;
  e.trace.unmatched.receives = 3;
  e.strings[e.contexts[solver.allreduce].name] = "MPI_Recv";
  e.communication.calls = {{.context = solver.allreduce, .threads = 8, .calls = 3, .ns = 10 * kSecond}};
  const auto elsewhere_s = [&] {
    const views::Figures figures(solver.sample);
    return divide_idleness(figures, diagnose(figures), {}).elsewhere_s;
  };
  CHECK(elsewhere_s() == 0);
  database::Experiment& with = solver.sample.build();
  with.strings[with.contexts[solver.setup].name] = "MPI_Comm_spawn";
  with.communication.calls.push_back({.context = solver.setup, .threads = 8, .calls = 1, .ns = kSecond});
  CHECK(elsewhere_s() == Approx(1710));
}

TEST_CASE("a call that sends and receives bears its time once") {
  views::testing::SolverSample solver;
  database::Experiment& e = solver.sample.build();
  e.trace.traced = 8;
  e.communication.calls = {{.context = solver.allreduce,
                            .threads = 8,
                            .calls = 20'000,
                            .ns = 2000 * kSecond,
                            .messages = 40'000,
                            .message_bytes = 320'000,
                            .smallest = 8,
                            .largest = 8,
                            .sent_bytes = 160'000,
                            .received_bytes = 160'000}};
  const database::Context& context = e.contexts[solver.allreduce];
  e.strings[context.name] = "MPI_Sendrecv";
  const views::Figures figures(solver.sample);
  const std::vector<std::string> phrases =
      message_pattern_phrases(figures, diagnose(figures), false, 60, false);
  REQUIRE(phrases.size() == 1);
  CHECK(wrap(phrases.front(), 1000).find(" take 25 % of the time") != std::string::npos);
  CHECK(message_pattern_phrases(figures, diagnose(figures), true, 60, false).empty());
}

TEST_CASE("without a trace, collectives that take too little for a late rank are named") {
  const auto said_of = [](const char* name, std::uint64_t calls) {
    views::testing::SolverSample solver;
    database::Experiment& e = solver.sample.build();
    e.communication.calls = {{.context = solver.allreduce,
                              .threads = 8,
                              .calls = calls,
                              .ns = 2000 * kSecond,
                              .messages = calls,
                              .message_bytes = 8 * calls,
                              .smallest = 8,
                              .largest = 8,
                              .sent_bytes = 8 * calls,
                              .received_bytes = 8 * calls}};
    e.strings[e.contexts[solver.allreduce].name] = name;
    const views::Figures figures(solver.sample);
    std::string all;
    for (const std::string& phrase : message_pattern_phrases(figures, diagnose(figures), false, 60, false))
      all += wrap(phrase, 1000);
    return all;
  };
  constexpr std::uint64_t kBrief = 50'000'000, kLong = 30'000'000;  // 40 and 67 us each
  CHECK(said_of("MPI_Allreduce", kBrief).find("take 25 % of the time, waiting for each other included") !=
        std::string::npos);
  CHECK(said_of("MPI_Barrier", kBrief).find("are they needed?") != std::string::npos);
  CHECK(said_of("MPI_Allreduce", kLong).empty());
  CHECK(said_of("MPI_Barrier", kLong).empty());
}

TEST_CASE("a run without a trace that starts processes may wait for them") {
  const auto said_of = [](const char* call) {
    views::testing::SolverSample solver;
    database::Experiment& e = solver.sample.build();
    e.communication.calls = {{.context = solver.allreduce, .threads = 8, .calls = 8, .ns = 2000 * kSecond}};
    const database::Context& context = e.contexts[solver.allreduce];
    e.strings[context.name] = call;
    const views::Figures figures(solver.sample);
    return other_world_phrase(solver.sample.experiment(), diagnose(figures));
  };
  CHECK(said_of("MPI_Allreduce").empty());
  CHECK(said_of("MPI_Comm_spawn").find("spawn hpcrun-lite with -o run2") != std::string::npos);
  CHECK(said_of("MPI_Comm_accept").find("that they connected to") != std::string::npos);
}

TEST_CASE("the parts of waiting add up to what is shown of the whole") {
  CHECK(idleness_parts_phrase({.late_s = 2}).empty());
  CHECK(idleness_parts_phrase({}).empty());
  const std::string text =
      plain({.late_s = 2.423, .transfer_s = 0.114, .library_s = 0.049, .no_processor_s = 0.066});
  CHECK(text.find("2.42") != std::string::npos);
  CHECK(text.find("for late ranks") < text.find("for transfers"));
  CHECK(text.find("for transfers") < text.find("without a processor"));
  // Rounding takes a second of the largest part.
  const std::string perhaps =
      plain({.late_s = 0.5, .threads_s = 0.5, .undivided_s = 100, .perhaps_no_processor_s = 100});
  CHECK(perhaps.starts_with("99 s of a kind"));
  CHECK(perhaps.find("(up to 99 s of it without a processor)") != std::string::npos);
  rc::check("whatever they are", [] {
    const auto part = [] { return *rc::gen::inRange(0, 100'000) / 1000.0; };
    const IdlenessParts parts{.late_s = part(), .transfer_s = part(), .library_s = part()};
    RC_PRE(parts.sum() >= 1 && parts.sum() < 100);
    const std::string shown = plain(parts);
    RC_PRE(!shown.empty());
    const double step = parts.sum() < 10 ? 0.01 : 0.1;
    RC_ASSERT(std::abs(sum_of(shown) - std::round(parts.sum() / step) * step) < step / 10);
  });
}

TEST_CASE("totals of lists are related to the report's waiting") {
  const IdlenessParts parts{.late_s = 9.1, .library_s = 2, .no_processor_s = 0.9};
  const auto said = [](const IdlenessParts& of, const ListedWaits& listed) {
    return wrap(waiting_of_report_phrase(of, listed, true), 1000);
  };
  CHECK(
      said(parts, {.ranks_s = 9.1}) ==
      "The report counts 12.0 s of waiting: 9.1 s for late ranks (listed here), 2.0 s in the MPI library and "
      "0.9 s without a processor.");
  CHECK(said({.late_s = 9.1, .threads_s = 2.9}, {.ranks_s = 8, .threads_s = 2.9}) ==
        "The report counts 12.0 s of waiting: 9.1 s for late ranks (listed here: 8.00 s) and 2.9 s for other "
        "threads (listed here).");
  CHECK(said({.late_s = 2}, {.ranks_s = 2}) == "That is all the waiting that the report counts.");
  CHECK(said({.late_s = 2, .without_startup = true}, {}) ==
        "Without MPI_Init and MPI_Finalize, the report counts 2.00 s of waiting, all of it for late ranks.");
  CHECK(said({}, {.ranks_s = 2}).empty());
  // What is listed is too little to be seen beside the whole: no digits for its sake.
  CHECK(said({.late_s = 2.5e-6, .no_processor_s = 1.4600432}, {.ranks_s = 2.5e-6}) ==
        "The report counts 1.46 s of waiting, all of it without a processor.");
  CHECK(
      said({.late_s = 0.0123456, .no_processor_s = 1.4}, {.ranks_s = 0.0123456}) ==
      "The report counts 1.412 s of waiting: 1.400 s without a processor and 0.012 s for late ranks (listed "
      "here).");
}

TEST_CASE("efficiencies say what waiting lacks a processor") {
  CHECK(wrap(lacked_in_figure_phrase({.late_s = 9, .no_processor_s = 1}, "Transfer", true), 1000) ==
        "Transfer includes waiting without a processor: 1.00 s of the 10.0 s that the report counts (10 %).");
  CHECK(wrap(lacked_in_figure_phrase({.undivided_s = 10, .perhaps_no_processor_s = 1}, "Transfer", true),
             1000) ==
        "Transfer may include waiting without a processor: up to 1.00 s of the 10.0 s that the report counts "
        "(10 %).");
  CHECK(lacked_in_figure_phrase({.late_s = 9}, "Transfer", true).empty());
}

}  // namespace culprit::viewer::testing::idleness_parts_test
