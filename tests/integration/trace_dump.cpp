// Prints the traces of a measurement directory for the end-to-end tests, one JSON object per process and
// line. Samples are counted only. Usage: trace_dump DIRECTORY
#include "measurement/find.hpp"
#include "measurement/measurement.hpp"
#include "measurement/trace.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>

#include <nlohmann/json.hpp>

using namespace culprit::measurement;
using nlohmann::json;

namespace {

const char* const kKinds[] = {"none",          "send",       "send_synchronous",
                              "send_buffered", "receive",    "receive_matched",
                              "probe",         "barrier",    "one_to_all",
                              "all_to_one",    "all_to_all", "prefix",
                              "neighbors",     "create",     "free",
                              "file_access",   "initialize", "finalize",
                              "put",           "get",        "accumulate",
                              "fence",         "start",      "complete",
                              "post",          "wait",       "lock",
                              "unlock",        "flush",      "flush_local",
                              "iteration"};
static_assert(std::size(kKinds) == trace::kOperationKinds);
const char* const kDefinitions[] = {"communicator", "intercommunicator", "group", "window"};
static_assert(std::size(kDefinitions) == trace::kDefinitionKinds);

json index(trace::Context context) {
  return context == trace::kNoContext ? json(-1) : json(context);
}

json operation(const trace::Operation& one) {
  json flags = json::array();
  if (one.cancelled) flags.push_back("cancelled");
  if (one.exclusive) flags.push_back("exclusive");
  if (one.no_precede) flags.push_back("no_precede");
  if (one.no_succeed) flags.push_back("no_succeed");
  if (one.no_check) flags.push_back("no_check");
  return {{"kind", kKinds[static_cast<std::size_t>(one.kind)]},
          {"begins", one.begins},
          {"completes", one.completes},
          {"flags", flags},
          {"id", one.id},
          {"context", index(one.context)},
          {"group", index(one.group)},
          {"made", index(one.made)},
          {"peer", one.peer},
          {"tag", one.tag},
          {"bytes", one.bytes},
          {"bytes_received", one.bytes_received}};
}

json thread(const trace::ProcessTrace& trace, const trace::ProcessTrace::Thread& one) {
  json calls = json::array();
  json readings = json::array();
  std::size_t samples = 0;
  trace::Record record;
  for (trace::ThreadRecords records(trace, one, {}); records.next(record);) {
    if (record.kind == trace::RecordKind::sample) ++samples;
    if (record.kind == trace::RecordKind::reading) {
      readings.push_back({{"time", record.exit_ns}, {"event", record.event}, {"value", record.value}});
    }
    if (record.kind != trace::RecordKind::call) continue;
    json operations = json::array();
    for (const trace::Operation& each : record.operations) operations.push_back(operation(each));
    calls.push_back({{"enter", record.enter_ns},
                     {"exit", record.exit_ns},
                     {"node", record.node},
                     {"any", record.any},
                     {"operations", operations}});
  }
  return {{"ordinal", one.ordinal}, {"samples", samples}, {"readings", readings}, {"calls", calls}};
}

json process(const std::filesystem::path& file) {
  const trace::ProcessTrace trace(trace::trace_path(file));
  json definitions = json::array();
  for (const trace::Definition& one : trace.definitions()) {
    definitions.push_back({{"kind", kDefinitions[static_cast<std::size_t>(one.kind)]},
                           {"global_id", one.global_id},
                           {"size", one.size},
                           {"rank", one.rank},
                           {"parent", index(one.parent)},
                           {"members", one.members},
                           {"remote", one.remote},
                           {"sources", one.sources},
                           {"destinations", one.destinations}});
  }
  json clocks = json::array();
  for (const trace::ClockPair& one : trace.clocks()) {
    clocks.push_back({{"monotonic", one.monotonic_ns},
                      {"reference", one.reference},
                      {"reference_ns", one.reference_ns},
                      {"round_trip", one.round_trip_ns}});
  }
  json threads = json::array();
  for (const auto& one : trace.threads()) threads.push_back(thread(trace, one));
  return {{"rank", Reader().read(file).process.rank.value_or(-1)},
          {"sealed", trace.sealed()},
          {"dropped", trace.dropped()},
          {"bytes", trace.bytes()},
          {"definitions", definitions},
          {"clocks", clocks},
          {"threads", threads}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    for_each_measurement(argv[1], [](const std::filesystem::path& file) {
      if (std::filesystem::exists(trace::trace_path(file))) std::puts(process(file).dump().c_str());
    });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "trace_dump: %s\n", error.what());
    return 1;
  }
  return 0;
}
