// Prints a measurement's trace for the end-to-end tests: one JSON object per line, first the outline, then
// every call and sample. With -c the numbers of calls, samples and waits for threads alone.
#include "measurement/measurement.hpp"
#include "measurement/trace.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>

namespace {

using culprit::measurement::Measurement;
using culprit::measurement::ThreadProfile;
namespace trace = culprit::measurement::trace;

void print_record(const ThreadProfile& thread, const trace::Record& record) {
  int depth = 0;
  for (auto node = record.node; node != 0; node = thread.nodes.at(node).parent) ++depth;
  std::printf(R"({"thread": %)" PRIu32 R"(, "kind": "%s", "enter": %)" PRIu64 R"(, "exit": %)" PRIu64
              R"(, "node": %)" PRIu32 R"(, "depth": %d, "wait": %d, "any": %s, "operations": [)",
              thread.ordinal, record.kind == trace::RecordKind::sample ? "sample" : "call", record.enter_ns,
              record.exit_ns, record.node, depth, record.wait, record.any ? "true" : "false");
  const char* separator = "";
  for (const trace::Operation& operation : record.operations) {
    std::printf(R"(%s{"kind": %d, "context": %)" PRId64 R"(, "peer": %)" PRId32 R"(, "tag": %)" PRId32
                R"(, "bytes": %)" PRIu64 "}",
                separator, static_cast<int>(operation.kind),
                operation.context == trace::kNoContext ? -1 : static_cast<std::int64_t>(operation.context),
                operation.peer, operation.tag, operation.bytes);
    separator = ", ";
  }
  std::printf("]}\n");
}

void print_counts(const char* path) {
  const trace::ProcessTrace in(trace::trace_path(path));
  std::uint64_t calls = 0;
  std::uint64_t samples = 0;
  std::uint64_t thread_waits = 0;
  std::uint64_t short_waits = 0;  // those that are added up
  std::uint64_t short_ns = 0;
  for (const auto& lines : in.threads()) {
    trace::ThreadRecords records(in, lines, {});
    for (trace::Record record; records.next(record);) {
      if (record.kind == trace::RecordKind::sample) ++samples;
      if (record.kind == trace::RecordKind::call) ++calls;
      if (record.kind == trace::RecordKind::thread_wait) ++thread_waits;
      if (record.kind != trace::RecordKind::short_waits) continue;
      short_waits += record.count;
      short_ns += record.value;
    }
  }
  std::printf(R"({"calls": %)" PRIu64 R"(, "samples": %)" PRIu64 R"(, "thread_waits": %)" PRIu64
              R"(, "short_waits": %)" PRIu64 R"(, "short_waits_ns": %)" PRIu64 R"(, "bytes": %)" PRIu64
              R"(, "dropped": %)" PRIu64 "}\n",
              calls, samples, thread_waits, short_waits, short_ns, in.bytes(), in.dropped());
}

void print(const char* path) {
  const Measurement measurement = culprit::measurement::Reader().read(path);
  const trace::ProcessTrace in(trace::trace_path(path));
  std::printf(R"({"sealed": %s, "end": %d, "limit_reached": %s, "dropped": %)" PRIu64 R"(, "bytes": %)" PRIu64
              R"(, "clocks": %zu, "threads": %zu, "pid_agrees": %s})"
              "\n",
              in.sealed() ? "true" : "false", static_cast<int>(in.end()),
              in.limit_reached() ? "true" : "false", in.dropped(), in.bytes(), in.clocks().size(),
              in.threads().size(),
              in.pid() == measurement.process.pid && in.start_ns() == measurement.process.start_ns ? "true"
                                                                                                   : "false");
  for (const auto& thread : measurement.threads) {
    for (const auto& lines : in.threads()) {
      if (lines.ordinal != thread.ordinal) continue;
      trace::ThreadRecords records(in, lines, thread.units);
      for (trace::Record record; records.next(record);) {
        if (record.kind == trace::RecordKind::sample || record.kind == trace::RecordKind::call)
          print_record(thread, record);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool counts = argc > 1 && std::strcmp(argv[1], "-c") == 0;
    for (int i = counts ? 2 : 1; i < argc; ++i) counts ? print_counts(argv[i]) : print(argv[i]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
