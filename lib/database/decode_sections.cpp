#include "database/sections.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace culprit::database {
namespace {

Run get_run(Decoder& from) {
  Run run;
  for (std::string* text : {&run.run_id, &run.mpi, &run.program, &run.directory, &run.balance}) {
    *text = from.get_string();
  }
  for (auto* texts : {&run.command, &run.hosts, &run.events, &run.notes}) *texts = from.get_strings();
  run.start_realtime_ns = from.get<std::int64_t>();
  run.duration_ns = from.get<std::uint64_t>();
  run.ranks = from.get<std::uint32_t>();
  run.world_size = from.get<std::uint32_t>();
  run.period_ns = from.get<std::uint64_t>();
  run.alpha = from.get<double>();
  run.tau = from.get<double>();
  run.epsilon = from.get<double>();
  return run;
}

std::map<std::uint64_t, std::string> get_names(Decoder& from) {
  std::map<std::uint64_t, std::string> names;
  for (auto left = from.get<std::uint32_t>(); left > 0; --left) {
    const auto number = from.get<std::uint64_t>();
    names[number] = from.get_string();
  }
  return names;
}

Quality get_quality(Decoder& from) {
  Quality q;
  for (std::uint64_t* count : {&q.samples, &q.partial, &q.partial_ns, &q.unresolved, &q.dropped, &q.full,
                               &q.handler_ns, &q.clock_violations, &q.cut_short, &q.unreadable}) {
    *count = from.get<std::uint64_t>();
  }
  return q;
}

bool get_bool(Decoder& from) {
  const auto byte = from.get<std::uint8_t>();
  if (byte > 1) from.fail("holds a truth value that is neither 0 nor 1");
  return byte == 1;
}

std::vector<Metric> get_metrics(Decoder& from) {
  std::vector<Metric> metrics(from.get_count(4));
  for (Metric& metric : metrics) {
    metric.name = from.get_string();
    metric.unit = from.get_string();
    metric.description = from.get_string();
    metric.summary_only = get_bool(from);
  }
  return metrics;
}

std::vector<Role> get_roles(Decoder& from) {
  std::vector<Role> roles(from.get_count(1 + sizeof(std::uint32_t)));
  for (Role& role : roles) {
    role.name = from.get_string();
    role.threads = from.get<std::uint32_t>();
  }
  return roles;
}

}  // namespace

Meta decode_meta(ByteSpan bytes) {
  Decoder from(bytes, "the section on the run");
  Meta meta;
  meta.run = get_run(from);
  meta.quality = get_quality(from);
  meta.metrics = get_metrics(from);
  meta.roles = get_roles(from);
  meta.hosts = from.get_strings();
  if (from.remaining() != 0) meta.quality.bridged = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.slowed = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.most_halvings = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.epochs_lost = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.unclassified_wait_ns = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.excess_wait_ns = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.clock_violations_left = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.tracing_ns = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.quality.clock_error_ns = from.get<std::uint64_t>();
  if (from.remaining() != 0) meta.run.names = get_names(from);
  return meta;
}

std::vector<ModuleInfo> decode_modules(ByteSpan bytes) {
  Decoder from(bytes, "the section on modules");
  std::vector<ModuleInfo> modules(from.get_count(3 + sizeof(std::uint64_t)));
  for (ModuleInfo& module : modules) {
    module.path = from.get_string();
    module.build_id = from.get_string();
    module.samples = from.get<std::uint64_t>();
    module.notes = from.get_strings();
  }
  if (from.remaining() == 0) return modules;  // from an older writer
  for (ModuleInfo& module : modules) {
    module.bridged = from.get<std::uint64_t>();
    module.partial = from.get<std::uint64_t>();
    module.no_unwind = get_bool(from);
  }
  return modules;
}

std::vector<Wait> decode_waits(ByteSpan bytes) {
  Decoder from(bytes, "the section on waits");
  std::vector<Wait> waits;
  while (from.remaining() > 0) {
    Wait& wait = waits.emplace_back();
    const auto pattern = from.get<std::uint32_t>();
    if (pattern >= kWaitPatterns) from.fail("names an unknown pattern");
    wait.pattern = static_cast<WaitPattern>(pattern);
    wait.location = from.get<std::uint32_t>();
    wait.context = from.get<std::uint32_t>();
    wait.cause_location = from.get<std::uint32_t>();
    wait.cause_context = from.get<std::uint32_t>();
    wait.exact = (from.get<std::uint32_t>() & 1) != 0;
    wait.ns = from.get<std::uint64_t>();
    wait.count = from.get<std::uint64_t>();
  }
  return waits;
}

namespace {

/// What was added to suspects later.
void get_details(Decoder& from, Suspect& suspect) {
  suspect.named = from.get<std::uint32_t>();
  const auto confidence = from.get<std::uint8_t>();
  const auto doubt = from.get<std::uint8_t>();
  if (confidence > static_cast<std::uint8_t>(Confidence::sure) ||
      doubt > static_cast<std::uint8_t>(Doubt::pools)) {
    from.fail("names an unknown confidence");
  }
  suspect.confidence = static_cast<Confidence>(confidence);
  suspect.doubt = static_cast<Doubt>(doubt);
  suspect.scopes.resize(from.get_count(sizeof(ContextId)));
  for (ContextId& scope : suspect.scopes) scope = from.get<std::uint32_t>();
  suspect.explained.resize(from.get_count(sizeof(ContextId) + sizeof(std::uint64_t)));
  for (Explained& explained : suspect.explained) {
    explained.balanced = from.get<std::uint32_t>();
    explained.ns = from.get<std::uint64_t>();
  }
}

}  // namespace

void decode_direct_waits(ByteSpan bytes, std::vector<Wait>& waits) {
  if (bytes.empty()) return;
  Decoder from(bytes, "the section on direct waits");
  if (bytes.size() != waits.size() * format::kDirectWaitSize) from.fail("is not of as many waits");
  for (Wait& wait : waits) {
    const auto ns = from.get<std::uint64_t>();
    if (ns == format::kDirectNotKnown) continue;
    if (ns > wait.ns) from.fail("is more than the wait");
    wait.direct_ns = ns;
  }
}

std::vector<Suspect> decode_suspects(ByteSpan bytes) {
  Decoder from(bytes, "the section on suspects");
  std::vector<Suspect> suspects(from.get_count(48));
  for (Suspect& suspect : suspects) {
    suspect.role = from.get<std::uint32_t>();
    suspect.balanced = from.get<std::uint32_t>();
    suspect.suspect = from.get<std::uint32_t>();
    for (std::uint64_t* ns :
         {&suspect.excess_ns, &suspect.explains_ns, &suspect.save_balanced_ns, &suspect.save_removed_ns}) {
      *ns = from.get<std::uint64_t>();
    }
    suspect.locations.resize(from.get_count(sizeof(std::uint32_t)));
    for (std::uint32_t& location : suspect.locations) location = from.get<std::uint32_t>();
    suspect.named = suspect.suspect;
    suspect.scopes = {suspect.suspect};
    suspect.explained = {{.balanced = suspect.balanced, .ns = suspect.explains_ns}};
  }
  if (from.remaining() == 0) return suspects;  // from an older writer
  for (Suspect& suspect : suspects) get_details(from, suspect);
  return suspects;
}

}  // namespace culprit::database
