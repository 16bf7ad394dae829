#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

// The exports by name: the command line, its help and its completion are made of this.
namespace culprit::viewer {

enum class ExportFormat : std::uint8_t {
  collapsed,
  speedscope,
  pprof,
  hatchet,
  caliper,
  csv,
  json,
  otf2,
  perfetto,
  firefox,
  html
};
/// How an export ends its file's name, and who reads it.
struct ExportUse {
  ExportFormat format;
  std::string_view ending, readers;
};

/// Whether `format` shows one metric, which --metric chooses; the others show all.
constexpr bool shows_one_metric(ExportFormat format) {
  return format == ExportFormat::collapsed || format == ExportFormat::speedscope ||
         format == ExportFormat::pprof || format == ExportFormat::firefox;
}

inline constexpr std::array<std::pair<std::string_view, ExportUse>, 11> kExports = {{
    {"collapsed", {ExportFormat::collapsed, "collapsed.txt", "flamegraph.pl, inferno, speedscope, Firefox"}},
    {"speedscope", {ExportFormat::speedscope, "speedscope.json", "speedscope: one profile per thread"}},
    {"pprof", {ExportFormat::pprof, "pb.gz", "pprof -http : run1.pb.gz"}},
    {"hatchet", {ExportFormat::hatchet, "hatchet.json", "Hatchet: GraphFrame.from_literal(json.load(f))"}},
    {"caliper", {ExportFormat::caliper, "json", "Hatchet: GraphFrame.from_caliper, with ranks"}},
    {"otf2", {ExportFormat::otf2, "otf2", "Vampir, otf2-print: each event; a directory"}},
    {"perfetto", {ExportFormat::perfetto, "pftrace", "ui.perfetto.dev: each event, with arrows"}},
    {"firefox", {ExportFormat::firefox, "firefox.json", "profiler.firefox.com: samples and waits over time"}},
    {"html", {ExportFormat::html, "html", "browsers: the whole run as one page, without network"}},
    {"csv", {ExportFormat::csv, "csv", "one row per context, all sums"}},
    {"json", {ExportFormat::json, "view.json", "as `view --format json`, all sums"}},
}};

}  // namespace culprit::viewer
