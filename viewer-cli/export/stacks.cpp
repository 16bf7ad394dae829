#include "export/stacks.hpp"

#include "request/errors.hpp"
#include "text/frame_json.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::ContextKind;

constexpr std::uint64_t kNsPerMicrosecond = 1000;
constexpr std::uint64_t kLargestExact = std::uint64_t{1} << 53U;  // readers hold numbers as doubles

bool is_time(const views::Column& column) {
  return column.unit == "s";
}

/// Frames that other tools show: call sites and the super-root are no functions.
bool is_shown(const database::Context& context, ContextId id) {
  return id != 0 && context.kind != ContextKind::call;
}

/// A frame's name that no reader of collapsed stacks misreads: no separators, and no blank before trailing
/// digits.
std::string collapsed_name(const views::Frame& frame) {
  std::string name = label(frame);
  std::replace(name.begin(), name.end(), ';', ':');
  while (name.ends_with(' ')) name.pop_back();
  const std::size_t digits = name.find_last_not_of("0123456789.");
  if (digits != std::string::npos && digits + 1 < name.size() && name[digits] == ' ') name[digits] = '_';
  if (frame.kind == ContextKind::inlined) name += "_[i]";
  return name;
}

}  // namespace

void write_collapsed(std::ostream& out, const views::Figures& figures, const views::Column& column) {
  const database::Contents& experiment = figures.experiment();
  std::vector<std::string> stacks(experiment.contexts.size());
  for (ContextId id = 0; id < experiment.contexts.size(); ++id) {
    const database::Context& context = experiment.contexts[id];
    if (context.parent != database::kNone) stacks[id] = stacks[context.parent];
    if (is_shown(context, id)) stacks[id] += ';' + collapsed_name(views::frame_of(experiment, context));
  }
  for (const std::uint32_t location : figures.locations()) {
    std::string first = location_label(experiment, location);
    std::replace(first.begin(), first.end(), ' ', '_');
    // Rounding is carried on, so that a thread's counts add up to its time rounded once.
    std::uint64_t sum = 0;
    std::uint64_t written = 0;
    for (const database::Value& value : figures.source().profile_values(location)) {
      if (value.metric != column.metric) continue;
      sum += value.value;
      const std::uint64_t whole = is_time(column) ? (sum + kNsPerMicrosecond / 2) / kNsPerMicrosecond : sum;
      if (whole != written) out << first << stacks[value.index] << ' ' << whole - written << '\n';
      written = whole;
    }
  }
}

void write_speedscope(std::ostream& out, const views::Figures& figures, const views::Column& column) {
  const database::Contents& experiment = figures.experiment();
  // Frames are shared by all profiles: one per distinct name, file and line.
  std::map<std::tuple<std::string, std::string_view, std::uint32_t>, std::size_t> numbers;
  std::vector<std::size_t> frame_of_context(experiment.contexts.size(), 0);
  Json frames = Json::array();
  for (ContextId id = 0; id < experiment.contexts.size(); ++id) {
    const views::Frame frame = views::frame_of(experiment, experiment.contexts[id]);
    const auto [found, added] = numbers.try_emplace({label(frame), frame.file, frame.line}, numbers.size());
    frame_of_context[id] = found->second;
    if (!added) continue;
    Json object = {{"name", label(frame)}};
    if (!frame.file.empty()) object["file"] = frame.file;
    if (frame.line != 0) object["line"] = frame.line;
    frames.push_back(std::move(object));
  }
  out << R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"viewer-cli@)" CULPRIT_VERSION
      << R"(","name":)" << one_line(views::base_name(experiment.run.program)) << R"(,"shared":{"frames":)"
      << one_line(frames) << R"(},"profiles":[)";
  bool first = true;
  for (const std::uint32_t location : figures.locations()) {
    Json samples = Json::array();
    Json weights = Json::array();
    std::uint64_t sum = 0;
    for (const database::Value& value : figures.source().profile_values(location)) {
      if (value.metric != column.metric) continue;
      if (sum + value.value > kLargestExact)
        throw CommandError("export: speedscope: " + location_label(experiment, location) +
                           " has more than 2^53 " + (is_time(column) ? "ns" : column.unit) +
                           " (JSON readers hold no larger numbers; use pprof)");
      Json stack = Json::array();
      for (const ContextId id : views::path_to(experiment, value.index)) {
        if (is_shown(experiment.contexts[id], id)) stack.push_back(frame_of_context[id]);
      }
      samples.push_back(std::move(stack));
      weights.push_back(value.value);
      sum += value.value;
    }
    if (samples.empty()) continue;
    const Json profile = {{"type", "sampled"},
                          {"name", location_label(experiment, location)},
                          {"unit", is_time(column) ? "nanoseconds" : "none"},
                          {"startValue", 0},
                          {"endValue", sum},
                          {"samples", std::move(samples)},
                          {"weights", std::move(weights)}};
    out << (first ? "\n" : ",\n") << one_line(profile);
    first = false;
  }
  out << "]}\n";
}

}  // namespace culprit::viewer
