#include "run_export.hpp"

#include "commands/html/page.hpp"
#include "export/caliper.hpp"
#include "export/firefox.hpp"
#include "export/hatchet.hpp"
#include "export/otf2.hpp"
#include "export/perfetto.hpp"
#include "export/pprof.hpp"
#include "export/stacks.hpp"
#include "export/time_lines.hpp"
#include "files/new_directory.hpp"
#include "files/new_file.hpp"
#include "files/write_failure.hpp"
#include "print/output.hpp"
#include "request/exports.hpp"
#include "request/view_request.hpp"
#include "tree/view_json.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <span>
#include <string_view>
#include <utility>

#include <ext/stdio_filebuf.h>
#include <fcntl.h>
#include <unistd.h>

namespace culprit::viewer {
namespace {

namespace fs = std::filesystem;

views::Column stack_column(const views::Source& source, const Invocation& invocation) {
  const std::string metric =
      invocation.metric.empty() ? primary_metric(source.experiment()) : invocation.metric;
  views::Column column = require_column(source, invocation, metric);
  if (column.blame) throw UsageError("metric: imbalance has no values per thread (try idleness)");
  if (column.derived)
    throw UsageError("metric: " + column.title +
                     " is derived, and stacks cannot be weighed by it (try csv or json)");
  return column;
}

/// All sums, and what --derive defines.
template <Format format>
void write_table(std::ostream& out, const views::Source& source, const Invocation& invocation,
                 MeasurementRead& /*read*/) {
  Invocation all = invocation;
  all.format = format;
  for (const database::Metric& metric : source.experiment().metrics) {
    all.metrics.push_back(metric.name + ":sum (I)");
    all.metrics.push_back(metric.name + ":sum (E)");
  }
  for (const views::Column& column : derived_columns(source, invocation)) all.metrics.push_back(column.title);
  const ViewRequest request = make_view_request(source, all);
  const views::Shown shown = views::show(*request.view, request.options, whole_of(request));
  if constexpr (format == Format::csv) {
    write_view_csv(out, request, shown);
  } else {
    write_view_json(out, request, shown);
  }
}

/// Beside what is written.
fs::path place_for_spills(const Invocation& invocation) {
  if (invocation.output.empty() || invocation.output == "-") return {};
  return fs::absolute(invocation.output).parent_path();
}

TimeLineRequest time_lines_of(const Invocation& invocation, std::string_view format) {
  return {.given = invocation.database,
          .purpose = "export: " + std::string(format),
          .directory = place_for_spills(invocation),
          .quiet = invocation.quiet};
}

void write_firefox(std::ostream& out, const views::Source& source, const Invocation& invocation,
                   MeasurementRead& read) {
  TimeLineRequest request = time_lines_of(invocation, "firefox");
  request.required = false;
  if (invocation.metric.empty()) {
    const LinesRead lines_read = with_time_lines(source, request, [&](const RunLines& lines) {
      read.readers.restrict_to(lines.replay().readers());
      write_firefox(out, lines);
    });
    read.whole = lines_read.whole;
    if (lines_read.any) return;
  }
  write_firefox_profile(out, views::Figures(source), stack_column(source, invocation));
}

void write_perfetto(std::ostream& out, const views::Source& source, const Invocation& invocation,
                    MeasurementRead& read) {
  TimeLineRequest request = time_lines_of(invocation, "perfetto");
  request.arrows = true;
  read.whole = with_time_lines(source, request, [&](const RunLines& lines) {
                 read.readers.restrict_to(lines.replay().readers());
                 write_perfetto(out, lines);
               }).whole;
}

/// Of one metric.
template <void (*Write)(std::ostream&, const views::Figures&, const views::Column&)>
void write_column(std::ostream& out, const views::Source& source, const Invocation& invocation,
                  MeasurementRead& /*read*/) {
  Write(out, views::Figures(source), stack_column(source, invocation));
}

/// Of all metrics.
template <void (*Write)(std::ostream&, const views::Figures&)>
void write_figures(std::ostream& out, const views::Source& source, const Invocation& /*invocation*/,
                   MeasurementRead& /*read*/) {
  Write(out, views::Figures(source));
}

void write_page(std::ostream& out, const views::Source& source, const Invocation& invocation,
                MeasurementRead& /*read*/) {
  write_html(out, source, !invocation.no_source);
}

constexpr auto kExports = std::to_array<std::pair<std::string_view, Export>>({
    {"collapsed",
     {.ending = "collapsed.txt",
      .readers = "flamegraph.pl, inferno, speedscope, Firefox",
      .one_metric = true,
      .write = write_column<write_collapsed>}},
    {"speedscope",
     {.ending = "speedscope.json",
      .readers = "speedscope: one profile per thread",
      .one_metric = true,
      .for_browsers = true,
      .write = write_column<write_speedscope>}},
    {"pprof",
     {.ending = "pb.gz",
      .readers = "pprof -http : run1.pb.gz",
      .kind = ExportKind::binary,
      .one_metric = true,
      .write = write_column<write_pprof>}},
    {"hatchet",
     {.ending = "hatchet.json",
      .readers = "Hatchet: GraphFrame.from_literal(json.load(f))",
      .write = write_figures<write_hatchet>}},
    {"caliper",
     {.ending = "json",
      .readers = "Hatchet: GraphFrame.from_caliper, with ranks",
      .write = write_figures<write_caliper>}},
    {"otf2",
     {.ending = "otf2",
      .readers = "Vampir, otf2-print: each event; a directory",
      .kind = ExportKind::directory}},
    {"perfetto",
     {.ending = "pftrace",
      .readers = "ui.perfetto.dev: each event, with arrows",
      .kind = ExportKind::binary,
      .write = write_perfetto}},
    {"firefox",
     {.ending = "firefox.json",
      .readers = "profiler.firefox.com: samples and waits over time",
      .one_metric = true,
      .for_browsers = true,
      .write = write_firefox}},
    {"html",
     {.ending = "html",
      .readers = "browsers: the whole run as one page, without network",
      .write = write_page}},
    {"csv", {.ending = "csv", .readers = "one row per context, all sums", .write = write_table<Format::csv>}},
    {"json",
     {.ending = "view.json",
      .readers = "as `view --format json`, all sums",
      .write = write_table<Format::json>}},
});

void write_export(std::ostream& file, const views::Source& source, const Invocation& invocation,
                  MeasurementRead& read) {
  const Export& format = invocation.export_format;
  if (format.kind == ExportKind::binary) {
    format.write(file, source, invocation, read);
    return;
  }
  print::TextStream out(file);
  format.write(out, source, invocation, read);
  out.flush();
}

/// Browsers hold no longer text than about 512 MiB.
void warn_of_browsers(const fs::path& written) {
  constexpr std::uintmax_t kLongestText = std::uintmax_t{512} << 20U;
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(written, ignored);
  if (ignored || size < kLongestText) return;
  print::complain("viewer-cli", "export: " + written.string() +
                                    ": is longer than browsers can read (use pprof or collapsed)");
}

/// Writes to what `descriptor` is of, and closes that.
MeasurementRead write_to(int descriptor, const fs::path& target, const views::Source& source,
                         const Invocation& invocation) {
  errno = 0;
  __gnu_cxx::stdio_filebuf<char> file(descriptor, std::ios::out | std::ios::binary);
  std::ostream stream(&file);
  MeasurementRead read;
  write_export(stream, source, invocation, read);
  if (file.close() == nullptr || !stream) throw files::WriteFailure(target, errno == 0 ? EIO : errno);
  return read;
}

/// Devices and pipes are written in place. Returns, as the writers below, whether no time line was left out.
bool write_special(const fs::path& target, const views::Source& source, const Invocation& invocation) {
  const int descriptor = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) throw files::WriteFailure(target, errno);
  return write_to(descriptor, target, source, invocation).whole;
}

/// A former export is replaced; what cannot be made again is not.
void refuse_own_files(const fs::path& target) {
  std::array<char, 7> begin{};
  std::ifstream(target, std::ios::binary).read(begin.data(), begin.size());
  if (std::string_view(begin.data(), begin.size()) == "CULPRIT")
    throw CommandError("export: " + target.string() +
                       ": is a database or a measurement of Culprit's (name another file with -o)");
}

/// A file gets its name once it is complete, and is for those who may read the database.
bool write_file(const fs::path& target, const views::Source& source, const Invocation& invocation) {
  if (fs::is_symlink(target))
    throw CommandError("export: " + target.string() +
                       ": is a link to a file (name the file itself with -o, or - for standard output)");
  refuse_own_files(target);
  files::NewFile made(target);
  MeasurementRead read = write_to(::fcntl(made.descriptor(), F_DUPFD_CLOEXEC, 0), target, source, invocation);
  read.readers.restrict_to(source.file(), fs::weakly_canonical(fs::absolute(target).parent_path()));
  made.finish(read.readers);
  if (invocation.export_format.for_browsers) warn_of_browsers(target);
  return read.whole;
}

/// A directory gets its name once it is complete; one that is there already is not replaced.
bool write_archive(const views::Source& source, const Invocation& invocation) {
  require_otf2();
  if (invocation.output.empty() || invocation.output == "-")
    throw UsageError("export: otf2 writes a directory (name one with -o)");
  fs::path target = fs::path(invocation.output).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(target, ignored)))
    throw CommandError("export: " + invocation.output +
                       ": already exists (remove it, or name another directory with -o)");
  const auto write = [&](const RunLines& lines) {
    files::NewDirectory made(target);
    write_otf2(made.path(), lines);
    files::Readership readers = lines.replay().readers();
    readers.restrict_to(source.file(), fs::weakly_canonical(fs::absolute(target).parent_path()));
    made.finish(readers);
  };
  return with_time_lines(source, time_lines_of(invocation, "otf2"), write).whole;
}

}  // namespace

std::span<const std::pair<std::string_view, Export>> exports() {
  return kExports;
}

bool run_export(std::ostream& out, const views::Source& source, const Invocation& invocation) {
  const ExportKind kind = invocation.export_format.kind;
  if (kind == ExportKind::binary && invocation.output.empty() && ::isatty(STDOUT_FILENO) == 1)
    throw UsageError(
        "export: this format is binary, and standard output is a terminal (name a file: -o FILE)");
  if (kind != ExportKind::directory && (invocation.output.empty() || invocation.output == "-")) {
    MeasurementRead read;
    write_export(out, source, invocation, read);
    return read.whole;
  }
  const fs::path target(invocation.output);
  std::error_code ignored;
  const bool special = fs::exists(target, ignored) && !fs::is_regular_file(target, ignored);
  try {
    if (kind == ExportKind::directory) return write_archive(source, invocation);
    return (special ? write_special : write_file)(target, source, invocation);
  } catch (const files::WriteFailure& failure) {
    throw CommandError("export: " + invocation.output + ": " + failure.why());
  }
}

}  // namespace culprit::viewer
