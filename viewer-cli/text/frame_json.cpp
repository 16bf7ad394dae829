#include "text/frame_json.hpp"

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

constexpr int kJsonIndent = 1;

}  // namespace

std::string process_of(const database::LocationEntry& location) {
  return std::string(location.host) + ':' + std::to_string(location.pid);
}

Json to_json(const views::Frame& frame) {
  return {{"name", frame.name},
          {"file", frame.file},
          {"line", frame.line},
          {"module", frame.module},
          {"kind", views::kind_name(frame.kind)}};
}

Json to_json(const stuck::Frame& frame) {
  return to_json(views::Frame{
      .name = frame.name,
      .file = frame.file,
      .line = frame.line,
      .module = frame.module,
      .kind = frame.inlined ? database::ContextKind::inlined : database::ContextKind::procedure});
}

Json path_json(const database::Contents& experiment, database::ContextId context) {
  Json path = Json::array();
  for (const database::ContextId each : views::path_to(experiment, context)) {
    path.push_back(to_json(views::frame_of(experiment, experiment.contexts[each])));
  }
  return path;
}

Json path_json(std::span<const views::Frame> path) {
  Json frames = Json::array();
  for (const views::Frame& frame : path) frames.push_back(to_json(frame));
  return frames;
}

Json location_json(std::int32_t rank, std::uint32_t thread, std::string_view role,
                   const std::string& process) {
  return {{"rank", rank < 0 ? Json(nullptr) : Json(rank)},
          {"thread", thread},
          {"role", role},
          {"process", process}};
}

void add_location(Json& object, const database::Contents& experiment, std::uint32_t location) {
  const database::LocationEntry self = experiment.locations[location];
  object.update(location_json(self.rank, self.thread, experiment.roles[self.role].name, process_of(self)));
}

Json locations_json(const database::Contents& experiment, std::span<const std::uint32_t> locations) {
  Json array = Json::array();
  for (const std::uint32_t location : locations) {
    Json object = Json::object();
    add_location(object, experiment, location);
    array.push_back(std::move(object));
  }
  return array;
}

std::string location_label(const database::Contents& experiment, std::uint32_t location) {
  const database::LocationEntry self = experiment.locations[location];
  std::string text = self.rank < 0 ? process_of(self) : "rank " + std::to_string(self.rank);
  if (self.thread != 0) text += " thread " + std::to_string(self.thread);
  return text;
}

std::string write(const Json& json) {
  return json.dump(kJsonIndent, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace culprit::viewer
