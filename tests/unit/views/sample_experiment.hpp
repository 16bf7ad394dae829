#pragma once

#include "image.hpp"
#include "views/source.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace culprit::views::testing {

/// An experiment in memory whose summaries are formed by the definitions of docs/algorithms.md 2-4, one scope
/// at a time and without the views' code: the reference that views are tested against.
class SampleExperiment final : public Source {
 public:
  /// `metrics` are names; times in ns. Context 0, the super-root, exists from the start.
  explicit SampleExperiment(const std::vector<std::string>& metrics);

  std::uint32_t add_role(const std::string& name);
  std::uint32_t add_location(std::int32_t rank, std::uint32_t thread, std::uint32_t role);

  struct Scope {
    database::ContextKind kind;
    std::string name{};
    std::string file{};
    std::uint32_t line = 0;
    std::string module = "app";
    std::uint8_t flags = 0;
  };
  /// Contexts must be added in pre-order.
  database::ContextId add(database::ContextId parent, const Scope& scope);

  /// Sets the exclusive value of a statement.
  void set(database::ContextId context, std::uint32_t metric, std::uint32_t location, std::uint64_t value);

  /// Forms ends, strings, the flat tree and all summaries. Call once, after everything was added.
  void finish();

  /// As a reader sees it, from what was built so far.
  [[nodiscard]] const database::Contents& experiment() const override;
  /// To change it further.
  [[nodiscard]] database::Experiment& build() {
    image_.reset();
    return experiment_;
  }
  [[nodiscard]] std::vector<database::Value> profile_values(std::uint32_t location) const override;
  [[nodiscard]] std::vector<std::uint64_t> inclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const override;
  [[nodiscard]] std::vector<std::uint64_t> exclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const override;

  /// Exclusive value of one context in one thread, as it was set.
  [[nodiscard]] std::uint64_t own(database::ContextId context, std::uint32_t metric,
                                  std::uint32_t location) const;

  /// Whether `context` is `above` or lies below it.
  [[nodiscard]] bool within(database::ContextId context, database::ContextId above) const;

  /// The nearest procedure at or above `context`; kNone without one.
  [[nodiscard]] database::ContextId procedure(database::ContextId context) const;

 private:
  [[nodiscard]] bool exclusive_to(database::ContextId statement, database::ContextId scope) const;
  void make_strings();
  void make_flat();
  void make_summaries();

  database::Experiment experiment_;
  mutable std::shared_ptr<const database::Image> image_;
  std::vector<Scope> scopes_;
  std::map<std::uint32_t, std::map<std::pair<database::ContextId, std::uint32_t>, std::uint64_t>> values_;
};

}  // namespace culprit::views::testing
