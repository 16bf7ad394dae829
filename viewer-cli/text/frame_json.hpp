#pragma once

#include "database/contents.hpp"
#include "stuck/picture.hpp"
#include "views/frame.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace culprit::viewer {

using Json = nlohmann::ordered_json;

/// `{"name","file","line","module","kind"}`.
Json to_json(const views::Frame& frame);
Json to_json(const stuck::Frame& frame);

/// The frames from the super-root to `context`.
Json path_json(const database::Contents& experiment, database::ContextId context);
Json path_json(std::span<const views::Frame> path);

/// A thread: `{"rank","thread","role","process"}`, the rank null where it is negative.
Json location_json(std::int32_t rank, std::uint32_t thread, std::string_view role,
                   const std::string& process);
/// Adds the same of a location to `object`.
void add_location(Json& object, const database::Contents& experiment, std::uint32_t location);

/// An array of locations.
Json locations_json(const database::Contents& experiment, std::span<const std::uint32_t> locations);

/// `host:pid`.
std::string process_of(const database::LocationEntry& location);

/// `rank 3`, `rank 3 thread 1`, `host:pid thread 2`: a thread for people. The thread is left out where it is
/// a main thread.
std::string location_label(const database::Contents& experiment, std::uint32_t location);

/// Text of a document; bytes of names that are no UTF-8 are replaced.
std::string write(const Json& json);
/// The same on one line, without a line feed.
std::string one_line(const Json& json);

}  // namespace culprit::viewer
