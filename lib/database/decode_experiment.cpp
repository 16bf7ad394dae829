#include "database/sections.hpp"
#include "database/summary_table.hpp"

namespace culprit::database {
namespace {

using format::Section;

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

/// Fills what the meta section holds; returns the hosts that locations refer to.
std::vector<std::string> decode_meta(ByteSpan bytes, Experiment& e) {
  Decoder from(bytes, "the section on the run");
  e.run = get_run(from);
  e.quality = get_quality(from);
  e.metrics = get_metrics(from);
  e.roles = get_roles(from);
  std::vector<std::string> hosts = from.get_strings();
  if (from.remaining() != 0) e.quality.bridged = from.get<std::uint64_t>();
  if (from.remaining() != 0) e.quality.slowed = from.get<std::uint64_t>();
  if (from.remaining() != 0) e.quality.most_halvings = from.get<std::uint64_t>();
  if (from.remaining() != 0) e.quality.epochs_lost = from.get<std::uint64_t>();
  if (from.remaining() != 0) e.quality.unclassified_wait_ns = from.get<std::uint64_t>();
  if (from.remaining() != 0) e.quality.excess_wait_ns = from.get<std::uint64_t>();
  return hosts;
}

std::vector<std::string> decode_strings(ByteSpan ends, ByteSpan bytes) {
  Decoder from(ends, "the string table");
  std::vector<std::string> strings;
  strings.reserve(ends.size() / format::kStringEndSize);
  std::uint64_t begin = 0;
  while (from.remaining() > 0) {
    const auto end = from.get<std::uint64_t>();
    if (end < begin || end > bytes.size()) from.fail("points outside its bytes");
    strings.emplace_back(reinterpret_cast<const char*>(bytes.data()) + begin, end - begin);
    begin = end;
  }
  if (begin != bytes.size()) from.fail("does not use all its bytes");
  return strings;
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

template <class Scope>
void get_scope(Decoder& from, Scope& scope) {
  scope.parent = from.get<std::uint32_t>();
  scope.end = from.get<std::uint32_t>();
  scope.name = from.get<std::uint32_t>();
  scope.file = from.get<std::uint32_t>();
  scope.line = from.get<std::uint32_t>();
  scope.module = from.get<std::uint32_t>();
}

std::vector<Context> decode_contexts(ByteSpan bytes) {
  Decoder from(bytes, "the calling context tree");
  std::vector<Context> contexts(bytes.size() / format::kContextSize);
  for (Context& context : contexts) {
    get_scope(from, context);
    context.flat = from.get<std::uint32_t>();
    context.kind = static_cast<ContextKind>(from.get<std::uint8_t>());
    context.flags = from.get<std::uint8_t>();
    context.wait_kind = from.get<std::uint8_t>();
    from.take(1);
  }
  return contexts;
}

std::vector<FlatScope> decode_flat(ByteSpan bytes) {
  Decoder from(bytes, "the flat tree");
  std::vector<FlatScope> flat(bytes.size() / format::kFlatSize);
  for (FlatScope& scope : flat) {
    get_scope(from, scope);
    scope.kind = static_cast<ContextKind>(from.get<std::uint8_t>());
    from.take(3);
  }
  return flat;
}

std::vector<Location> decode_locations(ByteSpan bytes, const std::vector<std::string>& hosts) {
  Decoder from(bytes, "the table of locations");
  std::vector<Location> locations(bytes.size() / format::kLocationSize);
  for (Location& location : locations) {
    location.rank = from.get<std::int32_t>();
    location.thread = from.get<std::uint32_t>();
    location.role = from.get<std::uint32_t>();
    const auto host = from.get<std::uint32_t>();
    if (host >= hosts.size()) from.fail("names a host that does not exist");
    // A long name in many locations would let a small file claim much memory.
    if (hosts[host].size() > format::kMaxHostName) from.fail("names a host with a name too long");
    location.host = hosts[host];
    location.pid = from.get<std::uint64_t>();
    location.start_ns = from.get<std::uint64_t>();
    location.end_ns = from.get<std::uint64_t>();
    location.cut_short = get_bool(from);
    from.take(7);
  }
  return locations;
}

std::vector<std::vector<Balance>> decode_balance(ByteSpan bytes, std::size_t roles, std::size_t contexts) {
  Decoder from(bytes, "the section on balance");
  std::vector<std::vector<Balance>> balance(roles);
  for (std::vector<Balance>& of_role : balance) {
    const ByteSpan taken = from.take(contexts);
    of_role.resize(contexts);
    for (std::size_t x = 0; x < contexts; ++x) of_role[x] = static_cast<Balance>(taken[x]);
  }
  from.expect_end();
  return balance;
}

std::vector<std::vector<BlameRow>> decode_blame(ByteSpan bytes, std::size_t roles) {
  Decoder from(bytes, "the section on blame");
  std::vector<std::vector<BlameRow>> blame(roles);
  std::uint32_t last = 0;
  while (from.remaining() > 0) {
    const auto role = from.get<std::uint32_t>();
    if (role < last || role >= roles) from.fail("has roles out of order or unknown");
    last = role;
    BlameRow& row = blame[role].emplace_back();
    row.context = from.get<std::uint32_t>();
    row.sum = from.get<std::uint64_t>();
    row.min = from.get<std::uint64_t>();
    row.max = from.get<std::uint64_t>();
  }
  return blame;
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
  }
  return suspects;
}

}  // namespace

Experiment decode_experiment(const SectionSpans& sections) {
  const auto bytes = [&](Section section) { return sections[slot(section)]; };
  Experiment e;
  const std::vector<std::string> hosts = decode_meta(bytes(Section::meta), e);
  e.strings = decode_strings(bytes(Section::string_ends), bytes(Section::string_bytes));
  e.modules = decode_modules(bytes(Section::modules));
  e.contexts = decode_contexts(bytes(Section::contexts));
  e.flat = decode_flat(bytes(Section::flat));
  e.locations = decode_locations(bytes(Section::locations), hosts);
  const auto summaries = [&](Section index, Section data, std::size_t scopes) {
    return decode_summaries(bytes(index), bytes(data), scopes, e.roles.size(), e.metrics.size());
  };
  e.context_summaries =
      summaries(Section::context_summary_index, Section::context_summary_data, e.contexts.size());
  e.flat_summaries = summaries(Section::flat_summary_index, Section::flat_summary_data, e.flat.size());
  e.balance = decode_balance(bytes(Section::balance), e.roles.size(), e.contexts.size());
  e.blame = decode_blame(bytes(Section::blame), e.roles.size());
  e.suspects = decode_suspects(bytes(Section::suspects));
  e.waits = decode_waits(bytes(Section::waits));
  e.sources = decode_sources(bytes(Section::source_index), bytes(Section::source_data));
  return e;
}

}  // namespace culprit::database
