#include "findings/causes.hpp"

#include "findings/suspect_names.hpp"
#include "viewer-cli/run.hpp"
#include "views/figures.hpp"
#include "views/sample_experiment.hpp"

#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

namespace culprit::viewer::testing::causes_test {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;

TEST_CASE("A cause and a suspect that are the same code have one name") {
  for (const std::uint64_t beside_s : {0, 2}) {
    SampleExperiment sample({"REALTIME", "idleness"});
    sample.add_location(0, 0, sample.add_role("main"));
    const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
    const ContextId loop = sample.add(main, {ContextKind::loop, "", "a.c", 10});
    sample.set(sample.add(loop, {ContextKind::statement, "", "a.c", 11}), 0, 0, beside_s * kSecond);
    const ContextId call = sample.add(loop, {ContextKind::call, "", "a.c", 12});
    const ContextId work = sample.add(call, {ContextKind::procedure, "work", "a.c", 20});
    sample.set(sample.add(work, {ContextKind::statement, "", "a.c", 21}), 0, 0, 10 * kSecond);
    sample.finish();
    sample.build().suspects = {{.role = 0,
                                .balanced = main,
                                .suspect = call,
                                .locations = {0},
                                .excess_ns = kSecond,
                                .explains_ns = kSecond,
                                .save_balanced_ns = kSecond,
                                .save_removed_ns = kSecond,
                                .named = call,
                                .confidence = database::Confidence::sure,
                                .doubt = database::Doubt::none,
                                .scopes = {call},
                                .explained = {{main, kSecond}}}};
    const views::Figures figures(sample);
    const std::string suspect = suspect_names(sample.experiment(), 40, true).front();
    CHECK(suspect == "call at a.c:12 in main");
    const bool same = beside_s == 0;
    CHECK((cause_phrase(figures, loop, false, 40, true) == suspect) == same);
    CHECK((code_names(figures, {loop}, 40, true).at(loop) == suspect) == same);
  }
}

}  // namespace culprit::viewer::testing::causes_test
