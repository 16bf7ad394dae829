#include "commands/stacks_json.hpp"

#include "print/text.hpp"
#include "stacks/tree.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using stacks::Observation;
using stacks::TreeNode;
using Root = stacks::Path::Root;

/// What one command may have seen; more is not believed.
constexpr std::size_t kMostLooksRead = 1000;
constexpr double kLongestStop = 1e9;  // seconds

std::string_view root_name(Root root) {
  return root == Root::program ? "<program root>" : root == Root::thread ? "<thread root>" : "<partial>";
}

database::ContextKind kind_of(Root root) {
  return root == Root::program  ? database::ContextKind::root
         : root == Root::thread ? database::ContextKind::thread_root
                                : database::ContextKind::partial;
}

Json root_json(Root root) {
  return to_json(
      views::Frame{.name = root_name(root), .file = {}, .line = 0, .module = {}, .kind = kind_of(root)});
}

Json location_of(const stacks::Location& location) {
  return location_json(location.rank, location.thread, location.role,
                       location.host + ':' + std::to_string(location.pid));
}

Json node_json(const Observation& observation, const TreeNode& node, bool root) {
  Json locations = Json::array();
  for (const TreeNode::Visitor& visitor : node.visitors)
    locations.push_back(location_of(observation.locations[visitor.location]));
  Json children = Json::array();
  for (const TreeNode& child : node.children) children.push_back(node_json(observation, child, false));
  return {{"frame", root ? root_json(node.root) : to_json(node.frame)},
          {"locations", std::move(locations)},
          {"children", std::move(children)}};
}

/// From the root on; what is MPI's own bears a mark.
Json stack_json(const stacks::Path& path) {
  Json frames = Json::array();
  frames.push_back(root_json(path.root));
  for (const stacks::Frame& frame : path.frames) {
    frames.push_back(to_json(frame));
    if (frame.mpi) frames.back()["mpi"] = true;
  }
  return frames;
}

Json sighting_json(const Observation& observation, std::size_t index) {
  Json object = location_of(observation.locations[index]);
  Json looks = Json::array();
  for (const std::size_t path : observation.seen[index])
    looks.push_back(path == stacks::kNotSeen ? Json(nullptr) : Json(path));
  object["busy"] = index < observation.busy.size() && observation.busy[index];
  object["paths"] = std::move(looks);
  return object;
}

std::string text_of(const Json& json) {
  auto text = json.get<std::string>();
  return print::is_spelled(text) ? text : print::spelled(text);
}

template <class Number>
Number number_of(const Json& json) {
  // Before it is converted: 1e300 has no value as an integer.
  const std::int64_t number = json.is_number_integer() ? json.get<std::int64_t>() : -1;
  if (number < 0 ||
      static_cast<std::uint64_t>(number) > static_cast<std::uint64_t>(std::numeric_limits<Number>::max()))
    throw std::runtime_error("a number is out of range");
  return static_cast<Number>(number);
}

stacks::Path read_path(const Json& frames) {
  stacks::Path path;
  const auto kind = frames.at(0).at("kind").get<std::string>();
  path.root = Root::partial;
  for (const Root root : {Root::program, Root::thread})
    if (kind == views::kind_name(kind_of(root))) path.root = root;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const Json& frame = frames[i];
    path.frames.push_back({.name = text_of(frame.at("name")),
                           .file = text_of(frame.at("file")),
                           .line = number_of<std::uint32_t>(frame.at("line")),
                           .module = text_of(frame.at("module")),
                           .inlined = frame.at("kind") == "inlined",
                           .mpi = frame.value("mpi", false)});
  }
  return path;
}

stacks::Location read_location(const Json& json) {
  const std::string process = text_of(json.at("process"));
  const std::size_t colon = process.rfind(':');
  stacks::Location location{.rank = json.at("rank").is_null() ? -1 : number_of<std::int32_t>(json.at("rank")),
                            .thread = number_of<std::uint32_t>(json.at("thread")),
                            .role = text_of(json.at("role")),
                            .host = process.substr(0, colon),
                            .pid = 0};
  const char* const begin = process.data() + (colon == std::string::npos ? process.size() : colon + 1);
  const auto [end, error] = std::from_chars(begin, process.data() + process.size(), location.pid);
  if (error != std::errc() || end != process.data() + process.size())
    throw std::runtime_error("a process has no number");
  return location;
}

std::vector<std::size_t> read_looks(const Json& json, const Observation& found) {
  std::vector<std::size_t> looks;
  for (const Json& each : json) {
    looks.push_back(each.is_null() ? stacks::kNotSeen : number_of<std::size_t>(each));
    if (looks.back() != stacks::kNotSeen && looks.back() >= found.paths.size())
      throw std::runtime_error("a path is missing");
  }
  if (looks.size() != found.looks) throw std::runtime_error("some looks are missing");
  return looks;
}

Observation read(const Json& json) {
  Observation found;
  found.looks = number_of<std::size_t>(json.at("looks"));
  if (found.looks > kMostLooksRead) throw std::runtime_error("too many looks");
  found.processes = number_of<std::size_t>(json.at("processes"));
  for (const Json& stop : json.at("stops_s")) {
    const auto seconds = stop.get<double>();
    const bool plausible = seconds >= 0 && seconds < kLongestStop;
    found.stops_ns.push_back(plausible ? static_cast<std::uint64_t>(std::llround(seconds * 1e9)) : 0);
  }
  found.stops_ns.resize(found.looks);
  for (const Json& text : json.at("unseen")) found.unseen.push_back(text_of(text));
  for (const Json& text : json.at("missed")) found.missed.push_back(text_of(text));
  for (const Json& path : json.at("paths")) found.paths.push_back(read_path(path));
  for (const Json& each : json.at("seen")) {
    found.locations.push_back(read_location(each));
    found.seen.push_back(read_looks(each.at("paths"), found));
    found.busy.push_back(each.at("busy").get<bool>());
  }
  return found;
}

}  // namespace

Json stacks_json(const Observation& observation) {
  Json roots = Json::array(), stops = Json::array(), paths = Json::array(), seen = Json::array();
  for (const TreeNode& root : stacks::unite(observation, {.by_line = true, .inside = true, .start_up = true}))
    roots.push_back(node_json(observation, root, true));
  for (const std::uint64_t stop : observation.stops_ns) stops.push_back(seconds_of(stop));
  for (const stacks::Path& path : observation.paths) paths.push_back(stack_json(path));
  for (std::size_t i = 0; i < observation.locations.size(); ++i)
    seen.push_back(sighting_json(observation, i));
  const auto longest = std::ranges::max_element(observation.stops_ns);
  return {{"processes", observation.processes},
          {"threads", observation.locations.size()},
          {"looks", observation.looks},
          {"longest_stop_s", longest == observation.stops_ns.end() ? 0.0 : seconds_of(*longest)},
          {"stops_s", std::move(stops)},
          {"unseen", observation.unseen},
          {"missed", observation.missed},
          {"roots", std::move(roots)},
          {"paths", std::move(paths)},
          {"seen", std::move(seen)}};
}

Observation read_stacks(const std::string& text) {
  const std::size_t begin = text.find('{'), end = text.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw std::runtime_error("no stacks");
  try {
    return read(Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                            text.begin() + static_cast<std::ptrdiff_t>(end) + 1));
  } catch (const Json::exception&) {
    throw std::runtime_error("no stacks");
  }
}

}  // namespace culprit::viewer
