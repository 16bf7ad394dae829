#pragma once

#include "database/procedure_name.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace culprit::viewer {

/// Columns that UTF-8 text takes on a terminal, one per code point.
std::size_t columns(std::string_view text);

/// A frame's name in at most `width` columns: first its parameter list goes, then what a template returns,
/// then template arguments, longest first, namespaces, outermost first, and last its middle; head and tail
/// stay. The gap is `…`, or `...`
/// where `unicode` is false.
std::string shorten_name(std::string_view name, std::size_t width, bool unicode);

/// For shorten_name in json, csv and wrapped text: hardly a name is wider.
inline constexpr std::size_t kWholeName = 200;

using database::without_parameters;

/// The same as prose calls it: the entries of OpenMP's run-time libraries to a barrier, `GOMP_barrier
/// [part]`, are `OpenMP barrier`.
std::string name_in_prose(std::string_view name);

/// Text in front of which blanks make it `width` columns wide.
std::string align_right(const std::string& text, std::size_t width);

/// Other text in at most `width` columns: the middle goes.
std::string shorten_middle(std::string_view text, std::size_t width, bool unicode);

}  // namespace culprit::viewer
