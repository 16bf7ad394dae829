#include "merge/values/shape.hpp"

#include "cct/message.hpp"
#include "database/procedure_name.hpp"

namespace culprit::merge {

Shape shape_of(const Attribution& attribution, const std::vector<Waiting>& waiting, Columns columns) {
  Shape shape{
      .contexts = {}, .flat = {}, .own = attribution.own, .segments = {}, .columns = std::move(columns)};
  shape.contexts.reserve(attribution.contexts.size());
  for (std::size_t x = 0; x < attribution.contexts.size(); ++x) {
    const database::Context& context = attribution.contexts[x];
    shape.contexts.push_back({.parent = context.parent,
                              .flat = context.flat,
                              .kind = context.kind,
                              .wait = waiting[x].kind,
                              .idle_by_name = std::uint8_t{waiting[x].by_name},
                              .unmarked = std::uint8_t{waiting[x].unmarked},
                              .never_idle = std::uint8_t{waiting[x].never},
                              .in_thread_library = std::uint8_t{waiting[x].in_library},
                              .io = std::uint8_t{waiting[x].io}});
    shape.columns.with_io = shape.columns.with_io || waiting[x].io;
  }
  shape.flat.reserve(attribution.flat.size());
  for (const database::FlatScope& scope : attribution.flat) {
    shape.flat.push_back({.parent = scope.parent, .kind = scope.kind});
  }
  return shape;
}

std::vector<Shape::Chosen> chosen_segments(const Attribution& attribution,
                                           const std::vector<std::string>& names) {
  std::vector<Shape::Chosen> chosen;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    for (database::FlatId id = 0; id < attribution.flat.size(); ++id) {
      const database::FlatScope& scope = attribution.flat[id];
      if (scope.kind != database::ContextKind::procedure && scope.kind != database::ContextKind::inlined)
        continue;
      if (database::is_called(attribution.strings[scope.name], names[i]))
        chosen.push_back({.name = i, .procedure = id});
    }
  }
  return chosen;
}

void broadcast(exchange::Communicator& comm, Shape& shape) {
  exchange::Bytes message;
  if (comm.rank() == 0) {
    cct::MessageWriter writer;
    writer.values(shape.contexts);
    writer.values(shape.flat);
    writer.values(shape.own);
    writer.values(shape.segments);
    writer.value(std::uint64_t{shape.columns.events.size()});
    for (const std::string& event : shape.columns.events) writer.text(event);
    writer.value(std::uint8_t{shape.columns.with_io});
    writer.value(std::uint8_t{shape.columns.threaded});
    message = writer.take();
  }
  comm.broadcast(message, 0);
  if (comm.rank() == 0) return;
  cct::MessageReader reader(message);
  shape.contexts = reader.values<Shape::Scope>();
  shape.flat = reader.values<Shape::Flat>();
  shape.own = reader.values<database::ContextId>();
  shape.segments = reader.values<Shape::Chosen>();
  const auto events = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < events; ++i) shape.columns.events.push_back(reader.text());
  shape.columns.with_io = reader.value<std::uint8_t>() != 0;
  shape.columns.threaded = reader.value<std::uint8_t>() != 0;
}

}  // namespace culprit::merge
