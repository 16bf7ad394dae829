// What databases keep of files and load modules is what adds up from the procedures in them.
#include "database/example.hpp"
#include "views/flat.hpp"
#include "views/source.hpp"

#include <filesystem>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace culprit::views {
namespace {

/// A source that keeps nothing of files and load modules, as databases of older writers.
class AddedUp final : public Source {
 public:
  explicit AddedUp(const Source& all) : all_(all) {}
  [[nodiscard]] const database::Contents& experiment() const override { return all_.experiment(); }
  [[nodiscard]] std::vector<database::Value> profile_values(std::uint32_t location) const override {
    return all_.profile_values(location);
  }
  [[nodiscard]] std::vector<std::uint64_t> inclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const override {
    return all_.inclusive_values(contexts, metric);
  }
  [[nodiscard]] std::vector<std::uint64_t> exclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const override {
    return all_.exclusive_values(contexts, metric);
  }

 private:
  const Source& all_;
};

}  // namespace

TEST_CASE("Exclusive values of files and load modules are kept, and the same as added up") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("flat-exclusive-" + std::to_string(::getpid()) + ".db");
  database::write_example(database::make_example(), path);
  const DatabaseSource kept(path);
  std::filesystem::remove(path);  // it stays mapped
  const AddedUp added_up(kept);
  const database::Contents& experiment = kept.experiment();
  const std::vector<std::uint32_t> some = {1, 3, 4};
  const std::vector<std::uint32_t> metrics = {0};
  const Figures all_kept(kept), all_added_up(added_up);
  const Figures some_kept(kept, some, metrics), some_added_up(added_up, some, metrics);
  std::size_t compared = 0;
  for (NodeId scope = 1; scope < experiment.flat.size(); ++scope) {
    const database::ContextKind kind = experiment.flat[scope].kind;
    const bool held = kind == database::ContextKind::file || kind == database::ContextKind::module;
    CHECK(kept.flat_exclusive_values(scope, 0).has_value() == held);
    for (std::uint32_t metric = 0; metric < experiment.metrics.size(); ++metric) {
      const std::vector<std::uint64_t> values = Flat(all_kept).per_thread(scope, metric, false);
      CHECK(values == Flat(all_added_up).per_thread(scope, metric, false));
      compared += held && values != std::vector<std::uint64_t>(values.size(), 0) ? 1 : 0;
    }
    CHECK(Flat(some_kept).per_thread(scope, 0, false) == Flat(some_added_up).per_thread(scope, 0, false));
  }
  CHECK(compared > 10);
}

}  // namespace culprit::views
