#include "commands/rows.hpp"

#include "findings/coverage.hpp"
#include "request/errors.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

namespace culprit::viewer {
namespace {

constexpr std::size_t kIndent = 4;

}  // namespace

void require_trace(const database::Contents& experiment, const std::string& command,
                   const std::string& database) {
  if (experiment.trace().traced > 0) return;
  throw CommandError(command + ": " + database + ": " + no_time_lines_phrase(experiment));
}

RowWriter::RowWriter(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     std::uint64_t largest_ns)
    : out_(out),
      screen_(screen),
      experiment_(experiment),
      scale_(scale_for(seconds_of(largest_ns), "s", screen.unicode)),
      width_(columns(scale_.write(seconds_of(largest_ns)))) {}

void RowWriter::row(std::uint64_t ns, const std::string& text) const {
  const std::string amount = scale_.write(seconds_of(ns));
  const std::string head = align_right(amount, width_) + ' ' + scale_.unit + "  ";
  out_ << head << wrap(text, screen_.width, kIndent, columns(head)) << '\n';
}

void RowWriter::path(database::ContextId context, bool between, const std::string& before) const {
  std::string text = before + path_text(experiment_, context, screen_);
  if (between) text += " (between two MPI calls)";
  out_ << screen_.dim(std::string(kIndent, ' ') + wrap(text, screen_.width, kIndent, kIndent)) << '\n';
}

void RowWriter::rest(std::size_t all, std::size_t shown) const {
  if (shown < all) out_ << "and " << all - shown << " more (--format csv or json)\n";
}

}  // namespace culprit::viewer
