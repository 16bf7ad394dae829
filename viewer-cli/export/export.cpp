#include "export/export.hpp"

#include "commands.hpp"
#include "export/hatchet.hpp"
#include "export/pprof.hpp"
#include "export/stacks.hpp"
#include "view/view_json.hpp"
#include "view/view_request.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace culprit::viewer {
namespace {

namespace fs = std::filesystem;

views::Column stack_column(const views::Source& source, const Invocation& invocation) {
  const std::string metric =
      invocation.metric.empty() ? primary_metric(source.experiment()) : invocation.metric;
  views::Column column = require_column(source, invocation, metric);
  if (column.blame) throw UsageError("metric: imbalance has no values per thread (try idleness)");
  if (column.derived)
    throw UsageError("metric: " + column.title + " is derived and no weight of stacks (try csv or json)");
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

void write_export(std::ostream& out, const views::Source& source, const Invocation& invocation) {
  const views::Figures figures(source);
  switch (invocation.export_format) {
    case ExportFormat::collapsed:
      write_collapsed(out, figures, stack_column(source, invocation));
      break;
    case ExportFormat::speedscope:
      write_speedscope(out, figures, stack_column(source, invocation));
      break;
    case ExportFormat::pprof:
      write_pprof(out, figures, stack_column(source, invocation));
      break;
    case ExportFormat::hatchet:
      write_hatchet(out, figures);
      break;
    case ExportFormat::caliper:
      write_caliper(out, figures);
      break;
    case ExportFormat::csv:
    case ExportFormat::json:
      write_table(out, source, invocation);
      break;
  }
}

/// Browsers hold no longer text than about 512 MiB.
void warn_of_browsers(const fs::path& written) {
  constexpr std::uintmax_t kLongestText = std::uintmax_t{512} << 20U;
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(written, ignored);
  if (ignored || size < kLongestText) return;
  std::fprintf(stderr, "viewer-cli: export: %s: is longer than browsers can read (use pprof or collapsed)\n",
               written.c_str());
}

}  // namespace

void run_export(std::ostream& out, const views::Source& source, const Invocation& invocation) {
  if (invocation.output.empty() || invocation.output == "-") {
    write_export(out, source, invocation);
    return;
  }
  const fs::path target(invocation.output);
  const auto refuse = [&](int error) {
    throw CommandError("export: " + invocation.output + ": " + std::strerror(error) +
                       " (name another file with -o, or make room)");
  };
  // Devices and pipes are written in place; a file only gets its name once it is complete.
  std::error_code ignored;
  const bool special = fs::exists(target, ignored) && !fs::is_regular_file(target, ignored);
  fs::path written = target;
  if (!special) written += ".tmp";
  errno = 0;
  std::ofstream file(written, std::ios::binary | std::ios::trunc);
  if (!file) refuse(errno);
  try {
    write_export(file, source, invocation);
    file.close();
  } catch (...) {
    if (!special) fs::remove(written, ignored);
    throw;
  }
  if (!file) {
    const int error = errno == 0 ? EIO : errno;
    if (!special) fs::remove(written, ignored);
    refuse(error);
  }
  if (special) return;
  std::error_code error;
  fs::rename(written, target, error);
  if (error) refuse(error.value());
  if (invocation.export_format == ExportFormat::speedscope) warn_of_browsers(target);
}

}  // namespace culprit::viewer
