#include "commands/stuck.hpp"

#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using stuck::CallKind;

stuck::Thread thread(std::uint64_t tid, const std::string& call) {
  stuck::Thread made;
  made.tid = tid;
  made.role = "main";
  made.inside = !call.empty();
  made.call.name = call;
  made.call.kind = CallKind::receive;
  made.path = {
      {.name = "solve", .file = "/src/a.c", .line = 7, .module = "a", .inlined = false, .mpi = false}};
  return made;
}

/// Ranks 0 and 1 wait for each other, further ones move.
stuck::Picture job(std::int32_t ranks) {
  stuck::Picture picture;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    stuck::Process process;
    process.host = "node";
    process.pid = 100 + static_cast<std::uint64_t>(rank);
    process.rank = rank;
    process.threads = {thread(process.pid, rank < 2 ? "MPI_Recv" : "")};
    if (rank < 2)
      process.threads[0].call.messages = {
          {.kind = CallKind::receive, .comm = 1, .peer = 1 - rank, .tag = 5, .bytes = 0}};
    picture.processes.push_back(std::move(process));
  }
  return picture;
}

stuck::Findings deadlock(std::int32_t ranks) {
  stuck::Findings findings;
  findings.problems = {{.kind = stuck::ProblemKind::deadlock, .ranks = {0, 1}, .text = "0 -> 1 -> 0"}};
  findings.verdict = "Stuck: a deadlock of ranks 0, 1";
  findings.waiting = {{.process = 0, .thread = 0, .since_s = 41, .ranks = {1}},
                      {.process = 1, .thread = 0, .since_s = 40, .ranks = {0}}};
  for (std::size_t i = 2; i < static_cast<std::size_t>(ranks); ++i) findings.moving.push_back({i, 0});
  return findings;
}

std::string text(const stuck::Picture& picture, const stuck::Findings& findings, bool unicode = true) {
  std::ostringstream out;
  write_stuck(out, {.width = 100, .colour = false, .unicode = unicode}, picture, findings);
  return out.str();
}

TEST_CASE("Stuck says the verdict, the problems, who waits and who does not") {
  CHECK(text(job(3), deadlock(3)) ==
        "Stuck: a deadlock of ranks 0, 1.\n"
        "\n"
        "- 0 → 1 → 0.\n"
        "\n"
        "Waiting in one call\n"
        "  rank 0  MPI_Recv  41 s  for rank 1, tag 5  solve at a.c:7\n"
        "  rank 1  MPI_Recv  40 s  for rank 0, tag 5  solve at a.c:7\n"
        "\n"
        "In no call for long\n"
        "  rank 2  in solve at a.c:7\n");
  CHECK(text(job(3), deadlock(3), false).find("0 -> 1 -> 0") != std::string::npos);
  stuck::Picture over = job(2);
  over.over = true;
  CHECK(text(over, deadlock(2)).starts_with("Stuck: a deadlock of ranks 0, 1, when the job ended.\n"));
  stuck::Findings none;
  none.verdict = "Not stuck";
  CHECK(text(job(0), none) == "Not stuck.\n");
  CHECK(text(over, none) == "The job was killed; until then no rank was stuck.\n");
  none.first_gone = {.rank = 1, .before_s = 0.94};
  CHECK(
      text(over, none) ==
      "The job was killed; until then no rank was stuck. Rank 1 was last seen 0.9 s before the others: look\n"
      "there first.\n");
  none.first_gone = {};
  for (stuck::Process& process : over.processes) process.life = stuck::Life::ended;
  CHECK(text(over, none) == "The job has ended; until then no rank was stuck.\n");
  none.crashed = {0};
  none.verdict = "Aborted: rank 0 ended the job";
  CHECK(text(over, none) == "Aborted: rank 0 ended the job.\n");
}

TEST_CASE("The json of stuck has the verdict, also where no rank is stuck, and whether the job runs") {
  const auto verdict = [](const stuck::Picture& picture, const stuck::Findings& findings) {
    const Json json = stuck_json(picture, findings);
    return Json::array({json["verdict"]["kind"], json["verdict"]["text"], json["runs"]});
  };
  CHECK(verdict(job(2), deadlock(2)) == Json::array({"stuck", "Stuck: a deadlock of ranks 0, 1.", true}));
  stuck::Findings none;
  none.verdict = "Not stuck: rank 0 moves";
  CHECK(verdict(job(2), none) == Json::array({"not-stuck", "Not stuck: rank 0 moves.", true}));
  stuck::Picture over = job(2);
  over.over = true;
  CHECK(verdict(over, deadlock(2)) ==
        Json::array({"stuck", "Stuck: a deadlock of ranks 0, 1, when the job ended.", false}));
  CHECK(verdict(over, none) ==
        Json::array({"killed", "The job was killed; until then no rank was stuck.", false}));
  for (stuck::Process& process : over.processes) process.life = stuck::Life::ended;
  CHECK(verdict(over, none) ==
        Json::array({"ended", "The job has ended; until then no rank was stuck.", false}));
  none.verdict = "Left: rank 1 ended without MPI_Finalize";
  none.left = {1};
  CHECK(verdict(over, none) == Json::array({"left", "Left: rank 1 ended without MPI_Finalize.", false}));
  none.crashed = {1};
  CHECK(verdict(over, none)[0] == "crashed");
  none.aborted = true;
  CHECK(verdict(over, none)[0] == "aborted");
}

TEST_CASE("Where measurements could not be read, stuck claims nothing of their processes") {
  stuck::Picture over = job(1);
  over.over = true;
  over.unread = 1;
  stuck::Findings none;
  none.verdict = "Not stuck";
  CHECK(text(over, none) ==
        "The job was killed; until then no rank was stuck that could be read. One measurement could not be\n"
        "read: nothing is known of its process.\n");
  CHECK(stuck_json(over, none)["verdict"]["kind"] == "unknown");
  over = job(2);
  over.unread = 2;
  CHECK(text(over, deadlock(2)).find("2 measurements could") != std::string::npos);
  CHECK(stuck_json(over, deadlock(2))["verdict"]["kind"] == "stuck");
  stuck::Picture nothing;
  nothing.unread = 2;
  CHECK(text(nothing, none) ==
        "No measurement of the job could be read: whether it runs, or is stuck, is unknown.\n");
  CHECK(stuck_json(nothing, none)["verdict"]["kind"] == "unknown");
}

TEST_CASE("Of many threads those in one place share a row") {
  stuck::Findings findings = deadlock(40);
  const std::string few = text(job(40), findings);
  CHECK(few.find("  ranks 2-39  in solve at a.c:7\n") != std::string::npos);
  for (int i = 0; i < 20; ++i) findings.waiting.push_back(findings.waiting[0]);
  CHECK(text(job(40), findings).find("MPI_Recv  40 s to 41 s  for ranks 0, 1  solve at a.c:7\n") !=
        std::string::npos);
}

TEST_CASE("The json of stuck has problems, waits and the rest") {
  const Json found = stuck_json(job(3), deadlock(3));
  CHECK(found["stuck"] == true);
  CHECK(found["problems"] ==
        Json::array({{{"kind", "deadlock"}, {"ranks", {0, 1}}, {"text", "0 -> 1 -> 0"}}}));
  const Json& row = found["waiting"][0];
  CHECK(row["rank"] == 0);
  CHECK(row["process"] == "node:100");
  CHECK(row["call"] == "MPI_Recv");
  CHECK(row["since_s"] == 41);
  CHECK(row["for"] == Json::array({1}));
  CHECK(row["path"][0] ==
        Json({{"name", "solve"}, {"file", "/src/a.c"}, {"line", 7}, {"module", "a"}, {"kind", "procedure"}}));
  CHECK(found["moving"][0]["rank"] == 2);
  CHECK(stuck_json(job(0), {})["stuck"] == false);
}

}  // namespace
}  // namespace culprit::viewer::testing
