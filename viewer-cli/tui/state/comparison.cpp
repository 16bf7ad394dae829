#include "tui/state/comparison.hpp"

#include "commands/run.hpp"
#include "request/view_request.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

namespace culprit::viewer::tui {
namespace {

views::Column comparable(const database::Contents& experiment, const std::string& name) {
  views::Column column = views::find_column(experiment, name);
  if (column.additive()) return column;
  throw views::UnknownMetric(column.title + " cannot be compared (use :sum or :mean)");
}

bool is_comparable(const database::Contents& experiment, const std::string& name) {
  try {
    return comparable(experiment, name).additive();
  } catch (const views::UnknownMetric&) {
    return false;
  }
}

/// A large comparison takes longer to give back than a key may: somebody else does.
template <class... Things>
void give_back(Things... things) {
  try {
    std::thread([... left = std::move(things)]() mutable { (left.reset(), ...); }).detach();
  } catch (const std::system_error&) {
    return;  // no thread to be had: it was given back here
  }
}

}  // namespace

Comparison::Formed::Formed(const views::Source& a, const views::Source& b, const std::string& metric)
    : figures_a(a),
      figures_b(b),
      difference(figures_a, comparable(a.experiment(), metric), figures_b,
                 comparable(b.experiment(), metric)),
      likely(views::likely_scaling(figures_a, figures_b).scaling) {}

Comparison::Comparison(const views::Source& first, OtherRun other) : first_(first), other_(std::move(other)) {
  form(other_.metric.empty() ? primary_metric(first_.experiment()) : other_.metric);
}

Comparison::~Comparison() {
  if (forming()) forming_.wait();
  give_back(std::move(formed_), std::move(other_.source));
}

void Comparison::form(const std::string& metric) {
  if (forming()) return;
  forming_ = std::async(std::launch::async,
                        [this, metric] { return std::make_unique<Formed>(first_, *other_.source, metric); });
}

bool Comparison::finish() {
  constexpr std::chrono::milliseconds kPatience{5};
  if (!forming() || forming_.wait_for(kPatience) != std::future_status::ready) return false;
  try {
    std::unique_ptr<Formed> now = forming_.get();
    std::swap(formed_, now);
    if (now) give_back(std::move(now));
    error_.clear();
  } catch (const std::exception& refused) {
    error_ = refused.what();
  }
  return true;
}

std::vector<std::string> Comparison::metrics() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (is_comparable(first(), name) && is_comparable(second(), name)) names.push_back(name);
  };
  for (const database::Metric& metric : first().metrics) {
    for (const char* const which : {":sum (I)", ":sum (E)", ":mean (I)", ":mean (E)"})
      add(metric.name + which);
  }
  return names;
}

views::Scaling Comparison::scaling() const {
  if (other_.scaling) return *other_.scaling;
  return formed_ ? formed_->likely : views::Scaling::strong;
}

std::string Comparison::csv() const {
  Invocation invocation;
  invocation.command = Command::diff;
  invocation.format = Format::csv;
  invocation.metric = difference()->column().title;
  invocation.scaling = scaling();
  std::ostringstream text;
  run_diff(text, {}, first_, *other_.source, invocation);
  return text.str();
}

bool Comparison::scales() const {
  return views::ranks_of(first()) != views::ranks_of(second());
}

}  // namespace culprit::viewer::tui
