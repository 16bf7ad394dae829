#pragma once

#include "files/readership.hpp"

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string_view>
#include <utility>

namespace culprit::views {
class Source;
}

namespace culprit::viewer {

struct Invocation;

enum class ExportKind : std::uint8_t { text, binary, directory };

/// What an export read of the measurement, beside the database.
struct MeasurementRead {
  files::Readership readers;  ///< who may read it
  bool whole = true;          ///< no time line was left out, not even in part
};

/// A format of export.
struct Export {
  std::string_view ending;   ///< of its file's name
  std::string_view readers;  ///< who reads it
  ExportKind kind = ExportKind::text;
  bool one_metric = false;    ///< of which --metric chooses; others show all
  bool for_browsers = false;  ///< which hold no longer text than some
  /// Where it is no directory.
  void (*write)(std::ostream&, const views::Source&, const Invocation&, MeasurementRead&) = nullptr;
};

/// All by name (run_export.cpp). The command line, its help and its completion are made of them.
std::span<const std::pair<std::string_view, Export>> exports();

}  // namespace culprit::viewer
