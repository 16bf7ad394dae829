#include "image.hpp"

#include "database/section_table.hpp"
#include "database/sections.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

Bytes encode(const Experiment& experiment) {
  const EachLocation locations = [&](const auto& visit) {
    std::ranges::for_each(experiment.locations, visit);
  };
  const std::vector<std::string> hosts = hosts_of(locations);
  SectionBytes sections = encode_experiment(experiment, hosts);
  Encoder encoded;
  locations([&](const Location& location) { encode_location(location, hosts, encoded); });
  sections[slot(format::Section::locations)] = encoded.take();
  SectionTable table(format::kHeaderSize);
  Encoder body;
  for (std::uint32_t number = 1; number <= format::kLastSection; ++number) {
    if (format::is_known(number))
      body.append(table.add(static_cast<format::Section>(number), sections[number - 1]));
  }
  body.append(table.table());
  Encoder file;
  file.append(table.header());
  file.append(body.bytes());
  return file.take();
}

Experiment complete(Experiment experiment) {
  if (experiment.balance.empty()) {
    experiment.balance.assign(experiment.roles.size(), std::vector<Balance>(experiment.contexts.size()));
  }
  return experiment;
}

}  // namespace

Image::Image(Experiment experiment)
    : bytes_(encode(complete(std::move(experiment)))), contents_(find_sections(bytes_, "image"), "image") {}

std::vector<Summary> read_summaries(const SummaryTables& tables, std::size_t roles, std::size_t metrics,
                                    std::size_t scopes) {
  std::vector<Summary> all;
  for (std::uint32_t role = 0; role < roles; ++role) {
    for (std::uint32_t metric = 0; metric < metrics; ++metric) {
      Summary summary{role, metric, {}};
      for (std::uint32_t scope = 0; scope < scopes; ++scope) {
        const SummaryEntry entry{scope, tables.get(role, metric, scope, true),
                                 tables.get(role, metric, scope, false)};
        if (entry.inclusive.observers > 0) summary.entries.push_back(entry);
      }
      if (!summary.entries.empty()) all.push_back(std::move(summary));
    }
  }
  return all;
}

Experiment collect(const Contents& contents) {
  Experiment e;
  e.run = contents.run;
  e.quality = contents.quality;
  e.modules = contents.modules;
  e.metrics = contents.metrics;
  e.roles = contents.roles;
  for (StringId id = 0; id < contents.strings.size(); ++id) e.strings.emplace_back(contents.strings[id]);
  for (ContextId x = 0; x < contents.contexts.size(); ++x) {
    e.contexts.push_back(contents.contexts[x]);
    e.contexts.back().flags &= kFrontier | kInWait | kMoves;
  }
  for (FlatId f = 0; f < contents.flat.size(); ++f) {
    e.flat.push_back(contents.flat[f]);
    e.flat.back().flags = 0;
  }
  for (std::uint32_t l = 0; l < contents.locations.size(); ++l) {
    const LocationEntry entry = contents.locations[l];
    e.locations.push_back({.rank = entry.rank,
                           .thread = entry.thread,
                           .role = entry.role,
                           .pid = entry.pid,
                           .host = std::string(entry.host),
                           .start_ns = entry.start_ns,
                           .end_ns = entry.end_ns,
                           .cut_short = entry.cut_short});
  }
  e.context_summaries =
      read_summaries(contents.context_summaries, e.roles.size(), e.metrics.size(), e.contexts.size());
  e.flat_summaries = read_summaries(contents.flat_summaries, e.roles.size(), e.metrics.size(), e.flat.size());
  for (std::uint32_t role = 0; role < e.roles.size(); ++role) {
    std::vector<Balance>& balance = e.balance.emplace_back();
    for (ContextId x = 0; x < e.contexts.size(); ++x) balance.push_back(contents.balance(role, x));
  }
  e.blame = contents.blame.read();
  e.suspects = contents.suspects();
  e.waits = contents.waits();
  e.trace = contents.trace();
  e.machine = contents.machine();
  e.varying_gaps = contents.varying_gaps();
  e.communication = contents.communication();
  e.sources = contents.sources();
  return e;
}

}  // namespace culprit::database
