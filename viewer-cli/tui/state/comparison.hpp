#pragma once

#include "views/difference.hpp"
#include "views/source.hpp"

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A second run, to compare with.
struct OtherRun {
  std::unique_ptr<const views::Source> source;
  std::string path;
  std::string metric;                     ///< empty: time
  std::optional<views::Scaling> scaling;  ///< not set: what the runs look like
};

/// Two runs compared. The difference is formed on a thread of its own. Not thread-safe itself.
class Comparison {
 public:
  /// `first` must outlive this. Begins to form the difference; a metric that cannot be compared is an
  /// error().
  Comparison(const views::Source& first, OtherRun other);
  ~Comparison();
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  [[nodiscard]] const database::Contents& first() const { return first_.experiment(); }
  [[nodiscard]] const database::Contents& second() const { return other_.source->experiment(); }
  [[nodiscard]] const std::string& path() const { return other_.path; }

  /// Compares another metric; what was formed before stays until finish().
  void form(const std::string& metric);
  [[nodiscard]] bool forming() const { return forming_.valid(); }
  /// Waits a few milliseconds at most; true: there is another difference, the one before is gone.
  bool finish();

  /// Null before the first one is formed.
  [[nodiscard]] const views::Difference* difference() const {
    return formed_ ? &formed_->difference : nullptr;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

  /// What either run has and sums make sense of.
  [[nodiscard]] std::vector<std::string> metrics() const;

  [[nodiscard]] views::Scaling scaling() const;
  void set_scaling(views::Scaling scaling) { other_.scaling = scaling; }
  /// All that differs, as `diff --format csv` writes it; there is a difference. Throws UsageError.
  [[nodiscard]] std::string csv() const;
  /// Whether the runs have different numbers of ranks, so that there is an ideal to fall short of.
  [[nodiscard]] bool scales() const;

 private:
  struct Formed {
    Formed(const views::Source& a, const views::Source& b, const std::string& metric);
    views::Figures figures_a, figures_b;
    views::Difference difference;
    views::Scaling likely;
  };

  const views::Source& first_;
  OtherRun other_;
  std::unique_ptr<Formed> formed_;
  std::string error_;
  std::future<std::unique_ptr<Formed>> forming_;  ///< last: it is waited for before the rest goes
};

}  // namespace culprit::viewer::tui
