#include "merge/timelines/communication.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

namespace communication_test {

using namespace culprit;
using database::PartnerTraffic;
using merge::add_up_partners;
using waits::PartnerSum;

namespace {

std::uint64_t bytes_of(const std::vector<PartnerTraffic>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const PartnerTraffic& row) { return sum + row.bytes; });
}

/// Each of `ranks` sends 10 bytes to each of the next `others`.
std::vector<PartnerSum> neighbours(std::int32_t ranks, std::int32_t others) {
  std::vector<PartnerSum> sums;
  for (std::int32_t from = 0; from < ranks; ++from) {
    for (std::int32_t i = 1; i <= others; ++i)
      sums.push_back({.communicator = 1,
                      .members = static_cast<std::uint32_t>(ranks),
                      .from = from,
                      .to = (from + i) % ranks,
                      .messages = 1,
                      .bytes = 10});
  }
  return sums;
}

}  // namespace

TEST_CASE("communicators come by the bytes sent in them; the smallest become one where there are many") {
  std::vector<PartnerSum> sums;
  for (std::uint64_t communicator = 1; communicator <= 5; ++communicator)
    sums.push_back({.communicator = communicator,
                    .members = 2,
                    .from = 0,
                    .to = 1,
                    .messages = 1,
                    .bytes = 100 * communicator});
  const std::vector<PartnerTraffic> rows = add_up_partners(sums, {.communicators = 3});
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].communicator == 5);
  CHECK(rows[2].communicator == 3);
  CHECK(rows[3].communicator == 0);
  CHECK(rows[3].members == 0);
  CHECK(rows[3].bytes == 300);
}

TEST_CASE("more pairs than a database holds are added up by neighbouring ranks") {
  const std::vector<PartnerSum> sums = neighbours(1024, 4);
  CHECK(add_up_partners(sums).size() == sums.size());
  const std::vector<PartnerTraffic> rows = add_up_partners(sums, {.rows = 100});
  CHECK(rows.size() <= 100);
  CHECK(bytes_of(rows) == 10 * sums.size());
  CHECK(rows.front().ranks > 1);
  CHECK(std::ranges::all_of(rows, [&](const PartnerTraffic& row) {
    return row.ranks == rows.front().ranks && row.from % static_cast<std::int32_t>(row.ranks) == 0;
  }));
}

}  // namespace communication_test
