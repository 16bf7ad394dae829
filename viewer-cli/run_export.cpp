#include "run_export.hpp"

#include "commands/html/page.hpp"
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

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <ostream>

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
void write_table(std::ostream& out, const views::Source& source, const Invocation& invocation) {
  Invocation all = invocation;
  all.format = invocation.export_format == ExportFormat::csv ? Format::csv : Format::json;
  for (const database::Metric& metric : source.experiment().metrics) {
    all.metrics.push_back(metric.name + ":sum (I)");
    all.metrics.push_back(metric.name + ":sum (E)");
  }
  for (const views::Column& column : derived_columns(source, invocation)) all.metrics.push_back(column.title);
  const ViewRequest request = make_view_request(source, all);
  const views::Shown shown = views::show(*request.view, request.options, whole_of(request));
  if (all.format == Format::csv) {
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

/// `readers`: restricted to those of the measurement, where it is read.
void write_firefox(std::ostream& out, const views::Source& source, const Invocation& invocation,
                   files::Readership& readers) {
  TimeLineRequest request = time_lines_of(invocation, "firefox");
  request.required = false;
  if (invocation.metric.empty() && with_time_lines(source, request, [&](const RunLines& lines) {
        readers.restrict_to(lines.replay().readers());
        write_firefox(out, lines);
      }))
    return;
  write_firefox_profile(out, views::Figures(source), stack_column(source, invocation));
}

void write_perfetto(std::ostream& out, const views::Source& source, const Invocation& invocation,
                    files::Readership& readers) {
  TimeLineRequest request = time_lines_of(invocation, "perfetto");
  request.arrows = true;
  with_time_lines(source, request, [&](const RunLines& lines) {
    readers.restrict_to(lines.replay().readers());
    write_perfetto(out, lines);
  });
}

void write_export(std::ostream& file, const views::Source& source, const Invocation& invocation,
                  files::Readership& readers) {
  const views::Figures figures(source);
  if (invocation.export_format == ExportFormat::pprof) {
    write_pprof(file, figures, stack_column(source, invocation));
    return;
  }
  if (invocation.export_format == ExportFormat::perfetto) {
    write_perfetto(file, source, invocation, readers);
    return;
  }
  print::TextStream out(file);
  switch (invocation.export_format) {
    case ExportFormat::collapsed:
      write_collapsed(out, figures, stack_column(source, invocation));
      break;
    case ExportFormat::speedscope:
      write_speedscope(out, figures, stack_column(source, invocation));
      break;
    case ExportFormat::hatchet:
      write_hatchet(out, figures);
      break;
    case ExportFormat::caliper:
      write_caliper(out, figures);
      break;
    case ExportFormat::html:
      write_html(out, source, !invocation.no_source);
      break;
    case ExportFormat::csv:
    case ExportFormat::json:
      write_table(out, source, invocation);
      break;
    case ExportFormat::firefox:
      write_firefox(out, source, invocation, readers);
      break;
    case ExportFormat::pprof:
    case ExportFormat::perfetto:
    case ExportFormat::otf2:
      break;
  }
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

/// Writes to what `descriptor` is of, and closes that. Returns who may read what was read beside the
/// database.
files::Readership write_to(int descriptor, const fs::path& target, const views::Source& source,
                           const Invocation& invocation) {
  errno = 0;
  __gnu_cxx::stdio_filebuf<char> file(descriptor, std::ios::out | std::ios::binary);
  std::ostream stream(&file);
  files::Readership readers;
  write_export(stream, source, invocation, readers);
  if (file.close() == nullptr || !stream) throw files::WriteFailure(target, errno == 0 ? EIO : errno);
  return readers;
}

/// Devices and pipes are written in place.
void write_special(const fs::path& target, const views::Source& source, const Invocation& invocation) {
  const int descriptor = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) throw files::WriteFailure(target, errno);
  (void)write_to(descriptor, target, source, invocation);
}

/// A file gets its name once it is complete, and is for those who may read the database.
void write_file(const fs::path& target, const views::Source& source, const Invocation& invocation) {
  if (fs::is_symlink(target))
    throw CommandError("export: " + target.string() +
                       ": is a link to a file (name the file itself with -o, or - for standard output)");
  files::NewFile made(target);
  files::Readership readers =
      write_to(::fcntl(made.descriptor(), F_DUPFD_CLOEXEC, 0), target, source, invocation);
  readers.restrict_to(source.file(), fs::weakly_canonical(fs::absolute(target).parent_path()));
  made.finish(readers);
  if (invocation.export_format == ExportFormat::speedscope ||
      invocation.export_format == ExportFormat::firefox)
    warn_of_browsers(target);
}

/// A directory gets its name once it is complete; one that is there already is not replaced.
void write_archive(const views::Source& source, const Invocation& invocation) {
  require_otf2();
  if (invocation.output.empty() || invocation.output == "-")
    throw UsageError("export: otf2 writes a directory (name one with -o)");
  fs::path target = fs::path(invocation.output).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(target, ignored)))
    throw CommandError("export: " + invocation.output +
                       ": already exists (remove it, or name another directory with -o)");
  with_time_lines(source, time_lines_of(invocation, "otf2"), [&](const RunLines& lines) {
    files::NewDirectory made(target);
    write_otf2(made.path(), lines);
    files::Readership readers = lines.replay().readers();
    readers.restrict_to(source.file(), fs::weakly_canonical(fs::absolute(target).parent_path()));
    made.finish(readers);
  });
}

}  // namespace

void run_export(std::ostream& out, const views::Source& source, const Invocation& invocation) {
  const bool binary =
      invocation.export_format == ExportFormat::pprof || invocation.export_format == ExportFormat::perfetto;
  if (binary && invocation.output.empty() && ::isatty(STDOUT_FILENO) == 1)
    throw UsageError(
        "export: this format is binary, and standard output is a terminal (name a file: -o FILE)");
  if (invocation.export_format != ExportFormat::otf2 &&
      (invocation.output.empty() || invocation.output == "-")) {
    files::Readership nobody_asks;
    write_export(out, source, invocation, nobody_asks);
    return;
  }
  const fs::path target(invocation.output);
  std::error_code ignored;
  const bool special = fs::exists(target, ignored) && !fs::is_regular_file(target, ignored);
  try {
    if (invocation.export_format == ExportFormat::otf2) {
      write_archive(source, invocation);
    } else {
      (special ? write_special : write_file)(target, source, invocation);
    }
  } catch (const files::WriteFailure& failure) {
    throw CommandError("export: " + invocation.output + ": " + failure.why());
  }
}

}  // namespace culprit::viewer
