#pragma once

#include "request/command_line.hpp"
#include "text/quantity.hpp"
#include "text/screen.hpp"
#include "views/compared.hpp"
#include "views/difference.hpp"
#include "views/shown.hpp"

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// What a comparison is about, beside its figures.
struct DiffSetting {
  const database::Contents& first;
  const database::Contents& second;
  views::LikelyScaling likely;
  views::Scaling scaling = views::Scaling::strong;  ///< as likely, or as asked for
};

/// What the report notes of a run that was cut short, or was merged while it ran: a part of it is compared.
struct RunNote {
  std::string run;  ///< `before`, `after`
  std::string text;
};
std::vector<RunNote> notes_of(const DiffSetting& setting);

/// Two runs side by side: their totals, the code that changed most itself, and the tree of changes.
void write_diff(std::ostream& out, const Screen& screen, const views::Compared& view,
                const views::Shown& shown, const DiffSetting& setting, const Invocation& invocation);

}  // namespace culprit::viewer

// How a comparison of two runs is written, as text and in the browser.
namespace culprit::viewer {

/// `+1.2`, `-1.2`.
std::string with_sign(const std::string& number);

/// The figures of a comparison, amounts in one unit; empty where they are nothing, or say nothing.
class ChangeText {
 public:
  /// `difference` must outlive this.
  ChangeText(const views::Difference& difference, views::Scaling scaling, bool unicode);

  [[nodiscard]] std::string write(views::Change which, const views::ComparedScope& scope) const;
  /// What changes are shares of; 0 for formulas.
  [[nodiscard]] double whole() const { return whole_; }
  [[nodiscard]] const Scale& scale() const { return scale_; }

 private:
  const views::Difference& difference_;
  views::Scaling scaling_;
  double whole_;
  Scale scale_;
};

/// What happened to a scope itself, in words that stand behind its name: `new`, `gone`, `was old_name`, `now
/// inlined`; empty for most.
std::vector<std::string> what_became_of(const views::ComparedScope& scope);

/// One run in words: `stencil.db: 4 ranks, 12.3 s`.
std::string run_text(const std::string& name, const database::Contents& experiment, bool unicode);

}  // namespace culprit::viewer
