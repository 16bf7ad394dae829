#include "damaged_file.hpp"
#include "measurement/checksum.hpp"
#include "trace_recording.hpp"
#include "trace_validity.hpp"

#include <cstring>
#include <random>

#include <catch2/catch.hpp>

namespace trace_damage_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::MeasurementError;

namespace {

std::vector<char> small_trace(const Directory& directory, bool ended) {
  const auto path = directory / "whole.trace";
  std::filesystem::remove(path);
  Trace trace(path);
  const std::vector<std::int32_t> members = {0, 1, 2, 9};
  REQUIRE(trace->define({.size = 4, .members = members.data(), .member_count = members.size()}) == 0);
  trace->add_clocks({.monotonic_ns = 1});
  for (std::uint32_t t = 0; t < 2; ++t) {
    Program program(t, 1);
    for (int i = 0; i < 200; ++i) REQUIRE(write(*trace->stream(t, t), program.next(program.below(3))));
    // A stream that ends with a zero may lose that unnoticed.
    REQUIRE(trace->stream(t, t)->thread_wait(kStart, kStart, measurement::WaitKind::join));
  }
  trace->maintain();
  if (ended) trace->end(EndReason::exit, kStart);
  return bytes_of(path);
}

// Valid, or refused with a reason.
bool refused(const std::filesystem::path& path) {
  try {
    if (const std::string what = validity::invalid_trace(path); !what.empty()) FAIL(what);
  } catch (const MeasurementError& error) {
    const std::string what = error.what();
    if (error.path() != path || what.empty() || what.back() != ')') FAIL(what);
    return true;
  }
  return false;
}

bool refused(const std::filesystem::path& path, const std::vector<char>& bytes) {
  write_bytes(path, bytes);
  return refused(path);
}

/// Of a slot only what is used has a meaning; of a complete trace also the index behind the slots.
bool has_meaning(const std::vector<char>& whole, std::size_t at) {
  if (at < trace::kSlot) return at < sizeof(trace::Header);
  const auto header = validity::load<trace::Header>(whole, 0);
  if (header.index_offset != 0 && at >= header.index_offset) return true;
  const auto block = validity::load<trace::BlockHeader>(whole, at / trace::kSlot * trace::kSlot);
  return at % trace::kSlot < sizeof block + block.used;
}

}  // namespace

TEST_CASE("a trace that is cut anywhere is refused, all of it or what was cut") {
  const Directory directory(scratch());
  for (const bool ended : {false, true}) {
    damage::File file(directory / "cut.trace", small_trace(directory, ended));
    REQUIRE_FALSE(refused(file.path()));
    damage::cut_each(file, [&](std::size_t size) {
      if (!refused(file.path())) FAIL("cut at " << size);
    });
  }
}

TEST_CASE("any flipped bit of a trace is noticed, or is one of no meaning") {
  const Directory directory(scratch());
  for (const bool ended : {false, true}) {
    damage::File file(directory / "changed.trace", small_trace(directory, ended));
    damage::flip_each(file, [&](std::size_t at) {
      if (has_meaning(file.bytes(), at) && !refused(file.path())) FAIL("byte " << at);
    });
  }
}

TEST_CASE("a trace whose process was killed while it wrote the index holds all") {
  const Directory directory(scratch());
  auto bytes = small_trace(directory, true);
  const auto path = directory / "ending.trace";
  trace::Header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  REQUIRE(header.index_entries == 3);
  header.index_entries = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  validity::mend_trace(bytes);
  for (const std::size_t left : {std::size_t{96}, std::size_t{40}, std::size_t{0}}) {
    bytes.resize(static_cast<std::size_t>(header.index_offset) + left);
    REQUIRE_FALSE(refused(path, bytes));
    REQUIRE(trace::ProcessTrace(path).threads().size() == 2);
  }
}

TEST_CASE("any damage that checksums do not show is refused or gives a valid trace") {
  const Directory directory(scratch());
  const auto whole = small_trace(directory, false);
  const auto path = directory / "changed.trace";
  std::mt19937 random(2);
  for (int i = 0; i < 4000; ++i) {
    auto bytes = whole;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      const std::size_t slot = random() % 4 * trace::kSlot;
      bytes[std::min(slot + random() % 1500, bytes.size() - 1)] = static_cast<char>(random());
    }
    validity::mend_trace(bytes);
    refused(path, bytes);
  }
}

TEST_CASE("times that no clock reaches are refused, whatever the checksums say") {
  const Directory directory(scratch());
  constexpr std::uint64_t kTime = measurement::kEndOfTime + 64;
  {
    const auto path = directory / "late.trace";
    Trace file(path);
    REQUIRE(file->stream(0, 0)->sample(kTime, 64, 14, measurement::WaitKind::none));
    file->end(measurement::EndReason::exit, kTime);
    const trace::ProcessTrace late(path);
    REQUIRE_THROWS_WITH(read_records(late, late.threads().at(0)),
                        Catch::Contains("goes beyond the end of time"));
  }
  for (const bool reference : {false, true}) {
    const auto path = directory / (reference ? "reference.trace" : "own.trace");
    Trace file(path);
    file->add_clocks({.monotonic_ns = reference ? 1 : kTime,
                      .realtime_ns = 0,
                      .reference = 0,
                      .reference_ns = reference ? kTime : 1,
                      .round_trip_ns = 0});
    file->end(measurement::EndReason::exit, kStart);
    REQUIRE_THROWS_WITH(trace::ProcessTrace(path), Catch::Contains("hold a time that cannot be"));
  }
}

TEST_CASE("a file that is no trace is reported") {
  const Directory directory(scratch());
  const auto path = directory / "no.trace";
  REQUIRE(refused(path, {}));
  REQUIRE(refused(path, std::vector<char>(100'000, 'x')));
  auto bytes = small_trace(directory, true);
  bytes[8] = trace::kVersion + 1;
  write_bytes(path, bytes);
  REQUIRE_THROWS_WITH(trace::ProcessTrace(path), Catch::Contains("newer Culprit"));
  bytes[8] = trace::kOldestVersion - 1;
  write_bytes(path, bytes);
  REQUIRE_THROWS_WITH(trace::ProcessTrace(path), Catch::Contains("older Culprit"));
}

}  // namespace trace_damage_test
