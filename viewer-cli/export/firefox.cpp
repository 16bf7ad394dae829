// Firefox Profiler's processed format as its documentation has it for version 48 (docs-developer/
// CHANGELOG-formats.md there, src/types/profile.js): tables of columns, all as long as `length` says; stacks
// are a tree whose prefixes come before them; samples in the order of time. A stack's frame is a scope of the
// code with the line that it is at.
#include "export/firefox.hpp"

#include "metrics/wait_pattern.hpp"
#include "print/text.hpp"
#include "text/frame_json.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Context;
using database::ContextId;
using database::ContextKind;

constexpr std::uint32_t kNoStack = std::numeric_limits<std::uint32_t>::max();
struct StackCategory {
  enum Number : std::uint8_t { other, code, waiting, run_time };
};

std::string json_text(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Nanoseconds as milliseconds, exactly.
std::string milliseconds(std::int64_t ns) {
  constexpr std::int64_t kMillion = 1'000'000;
  const std::int64_t size = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:06}", ns < 0 ? "-" : "", size / kMillion, size % kMillion);
}

/// `"name":[...]` of `count` values, each written by write(index).
template <class Write>
void column(std::ostream& out, const char* name, std::size_t count, Write write) {
  out << '"' << name << "\":[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out << ',';
    out << write(i);
  }
  out << ']';
}

/// The same value in all rows.
void column(std::ostream& out, const char* name, std::size_t count, const char* value) {
  column(out, name, count, [&](std::size_t /*row*/) { return value; });
}

/// Of one thread: strings, functions, frames and stacks, each numbered as it is first met.
class StackTables {
 public:
  explicit StackTables(const database::Contents& experiment) : experiment_(experiment) {}

  std::uint32_t text(const std::string& value) {
    const auto [found, added] = texts_.try_emplace(value, static_cast<std::uint32_t>(in_order_.size()));
    if (added) in_order_.push_back(&found->first);
    return found->second;
  }

  /// kNoStack for roots.
  std::uint32_t stack(ContextId context) {
    const auto known = stack_of_.find(context);
    if (known != stack_of_.end()) return known->second;
    const std::uint32_t made = make_stack(context);
    stack_of_.emplace(context, made);
    return made;
  }

  void write(std::ostream& out) const {
    out << "\"stackTable\":{\"length\":" << stacks_.size() << ',';
    column(out, "frame", stacks_.size(), [&](std::size_t i) { return i; });
    out << ',';
    column(out, "prefix", stacks_.size(), [&](std::size_t i) {
      return stacks_[i].prefix == kNoStack ? std::string("null") : std::to_string(stacks_[i].prefix);
    });
    out << ',';
    column(out, "category", stacks_.size(), [&](std::size_t i) { return int{stacks_[i].category}; });
    out << ',';
    column(out, "subcategory", stacks_.size(), "0");
    out << "},\n";
    write_frames(out);
    write_functions(out);
    out << R"("resourceTable":{"length":0,"lib":[],"name":[],"host":[],"type":[]},)"
        << R"("nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]},)";
    column(out, "stringArray", in_order_.size(), [&](std::size_t i) { return json_text(*in_order_[i]); });
  }

 private:
  /// A stack, and its frame, which has the same number.
  struct Stack {
    std::uint32_t prefix = kNoStack, function = 0, line = 0;
    StackCategory::Number category = StackCategory::code;
  };
  struct Function {
    std::uint32_t name = 0, file = kNoStack, line = 0;
    friend auto operator<=>(const Function&, const Function&) = default;  // NOLINT(modernize-use-nullptr)
  };

  static bool is_place(ContextKind kind) {
    return kind == ContextKind::call || kind == ContextKind::statement;
  }

  [[nodiscard]] bool is_scope(const Context& context) const {
    return !is_place(context.kind) && context.kind != ContextKind::root &&
           context.kind != ContextKind::thread_root && is_shown_over_time(experiment_, context);
  }

  std::uint32_t make_stack(ContextId id) {
    const Context context = experiment_.contexts[id];
    if (context.parent == database::kNone) return kNoStack;
    if (is_scope(context)) return add(context, context.line, stack(context.parent));
    if (!is_place(context.kind)) return stack(context.parent);
    // A place is the scope around it at another line.
    ContextId around = context.parent;
    while (around != database::kNone && is_place(experiment_.contexts[around].kind))
      around = experiment_.contexts[around].parent;
    if (around == database::kNone || !is_scope(experiment_.contexts[around])) return stack(context.parent);
    const Context scope = experiment_.contexts[around];
    return add(scope, context.line, stack(scope.parent));
  }

  std::uint32_t add(const Context& scope, std::uint32_t line, std::uint32_t prefix) {
    const views::Frame frame = views::frame_of(experiment_, scope);
    const Function function{.name = text(views::label(frame)),
                            .file = frame.file.empty() ? kNoStack : text(std::string(frame.file)),
                            .line = frame.line};
    const auto found =
        functions_.try_emplace(function, static_cast<std::uint32_t>(functions_in_order_.size())).first;
    if (found->second == functions_in_order_.size()) functions_in_order_.push_back(function);
    const StackCategory::Number category = (scope.flags & (database::kInWait | database::kFrontier)) != 0
                                               ? StackCategory::waiting
                                           : (scope.flags & database::kRunTime) != 0 ? StackCategory::run_time
                                                                                     : StackCategory::code;
    stacks_.push_back({.prefix = prefix, .function = found->second, .line = line, .category = category});
    return static_cast<std::uint32_t>(stacks_.size() - 1);
  }

  static std::string or_null(std::uint32_t value, std::uint32_t none) {
    return value == none ? "null" : std::to_string(value);
  }

  void write_frames(std::ostream& out) const {
    const std::size_t count = stacks_.size();
    out << "\"frameTable\":{\"length\":" << count << ',';
    column(out, "address", count, "-1");
    out << ',';
    column(out, "inlineDepth", count, "0");
    out << ',';
    column(out, "category", count, [&](std::size_t i) { return int{stacks_[i].category}; });
    out << ',';
    column(out, "subcategory", count, "0");
    out << ',';
    column(out, "func", count, [&](std::size_t i) { return stacks_[i].function; });
    out << ',';
    for (const char* const name : {"nativeSymbol", "innerWindowID", "implementation", "column"}) {
      column(out, name, count, "null");
      out << ',';
    }
    column(out, "line", count, [&](std::size_t i) { return or_null(stacks_[i].line, 0); });
    out << "},\n";
  }

  void write_functions(std::ostream& out) const {
    const std::size_t count = functions_in_order_.size();
    out << "\"funcTable\":{\"length\":" << count << ',';
    column(out, "name", count, [&](std::size_t i) { return functions_in_order_[i].name; });
    out << ',';
    column(out, "isJS", count, "false");
    out << ',';
    column(out, "relevantForJS", count, "false");
    out << ',';
    column(out, "resource", count, "-1");
    out << ',';
    column(out, "fileName", count,
           [&](std::size_t i) { return or_null(functions_in_order_[i].file, kNoStack); });
    out << ',';
    column(out, "lineNumber", count, [&](std::size_t i) { return or_null(functions_in_order_[i].line, 0); });
    out << ',';
    column(out, "columnNumber", count, "null");
    out << "},\n";
  }

  const database::Contents& experiment_;
  std::map<std::string, std::uint32_t> texts_;
  std::vector<const std::string*> in_order_;
  std::map<Function, std::uint32_t> functions_;
  std::vector<Function> functions_in_order_;
  std::unordered_map<ContextId, std::uint32_t> stack_of_;
  std::vector<Stack> stacks_;
};

struct Sample {
  std::int64_t ns = 0;  ///< since the run's beginning
  std::uint64_t weight_ns = 0;
  ContextId context = 0;
};

struct Marker {
  std::int64_t begin_ns = 0, end_ns = 0;
  merge::LineWait wait;
  std::uint64_t iteration = 0;
  enum Kind : std::uint8_t { call_waits, thread_waits, iterates } kind = call_waits;
};

/// What a thread has.
struct ThreadData {
  std::uint32_t location = 0;
  std::vector<Sample> samples;
  std::vector<Marker> markers;
};

class Collector final : public merge::LineEvents {
 public:
  Collector(ThreadData& into, const RunLines& lines) : into_(into), lines_(lines) {}

  void enter(std::uint64_t /*ns*/, ContextId /*frame*/) override {}
  void leave(std::uint64_t /*ns*/, ContextId /*frame*/) override {}
  void enter_call(std::uint64_t /*ns*/, const merge::LineCall& /*call*/,
                  std::span<const std::uint64_t> /*arrows*/) override {}
  void leave_call(std::uint64_t /*ns*/, const merge::LineCall& /*call*/) override {}
  void begin_wait(std::uint64_t /*ns*/, const merge::LineWait& wait) override {
    if (!wait.continued)
      into_.markers.push_back(
          {.begin_ns = since(wait.begin_ns), .end_ns = since(wait.end_ns), .wait = wait, .iteration = 0});
  }
  void end_wait(std::uint64_t /*ns*/, const merge::LineWait& /*wait*/) override {}
  void sample(std::uint64_t ns, std::uint64_t weight_ns, ContextId context) override {
    into_.samples.push_back({.ns = since(ns), .weight_ns = weight_ns, .context = context});
  }
  void iteration(std::uint64_t ns, std::uint64_t number) override {
    into_.markers.push_back({.begin_ns = since(ns),
                             .end_ns = since(ns),
                             .wait = {},
                             .iteration = number,
                             .kind = Marker::iterates});
  }
  void thread_wait(std::uint64_t begin_ns, std::uint64_t end_ns, database::WaitPattern pattern) override {
    into_.markers.push_back({.begin_ns = since(begin_ns),
                             .end_ns = since(end_ns),
                             .wait = {.pattern = pattern},
                             .iteration = 0,
                             .kind = Marker::thread_waits});
  }

 private:
  [[nodiscard]] std::int64_t since(std::uint64_t ns) const { return lines_.since_start_ns(ns); }

  ThreadData& into_;
  const RunLines& lines_;
};

/// The document, thread by thread.
class ProfileWriter {
 public:
  /// `weights`: of samples, as the format has it: tracing-ms of nanoseconds, bytes, or samples of anything.
  ProfileWriter(std::ostream& out, const database::Contents& experiment,
                std::string_view weights = "tracing-ms")
      : out_(out), experiment_(experiment), weights_(weights) {
    write_meta(experiment.run.start_realtime_ns);
    out_ << "\"libs\":[],\"pages\":[],\"counters\":[],\"threads\":[";
  }

  /// `lines`: whom markers refer to; null: there are none.
  void add(ThreadData& thread, const RunLines* lines) {
    const database::LocationEntry location = experiment_.locations[thread.location];
    const std::string process = print::spelled(process_of(location));
    const std::string role = experiment_.roles[location.role].name;
    const std::string rank = location.rank < 0 ? process : "rank " + std::to_string(location.rank);
    const std::string name =
        location.thread == 0 ? rank : "thread " + std::to_string(location.thread) + ' ' + role;
    std::ranges::stable_sort(thread.samples, {}, &Sample::ns);
    std::ranges::stable_sort(thread.markers, {}, &Marker::begin_ns);
    StackTables tables(experiment_);
    out_ << (first_ ? "\n" : ",\n") << R"({"processType":"default","processStartupTime":0,)"
         << R"("processShutdownTime":null,"registerTime":0,"unregisterTime":null,"pausedRanges":[],"name":)"
         << json_text(name) << ",\"isMainThread\":" << (location.thread == 0 ? "true" : "false")
         << ",\"processName\":" << json_text(location.rank < 0 ? process : rank + " (" + process + ')')
         << ",\"pid\":" << json_text(process) << ",\"tid\":" << json_text(std::to_string(thread.location))
         << ",\n";
    write_samples(thread, tables);
    write_markers(thread, tables, lines);
    tables.write(out_);
    out_ << '}';
    first_ = false;
  }

  void finish() { out_ << "]}\n"; }

 private:
  void write_meta(std::int64_t start_realtime_ns) {
    const auto category = [](const char* name, const char* colour) {
      return Json{{"name", name}, {"color", colour}, {"subcategories", {"Other"}}};
    };
    const auto field = [](const char* key, const char* label) {
      return Json{{"key", key}, {"label", label}, {"format", "string"}, {"searchable", true}};
    };
    const Json wait = {
        {"name", "Wait"},
        {"tooltipLabel", "{marker.name} in {marker.data.call}"},
        {"tableLabel", "{marker.data.call} waits for {marker.data.whom}"},
        {"chartLabel", "{marker.data.call} waits for {marker.data.whom}"},
        {"display", {"marker-chart", "marker-table", "timeline-overview"}},
        {"data", {field("call", "Call"), field("whom", "Waits for"), field("by", "Ended by")}}};
    const Json thread_wait = {{"name", "Thread wait"},
                              {"tableLabel", "waits for another thread"},
                              {"display", {"marker-chart", "marker-table", "timeline-overview"}},
                              {"data", Json::array()}};
    const Json mark = {{"name", "Iteration"},
                       {"tableLabel", "iteration {marker.data.number}"},
                       {"display", {"marker-chart", "marker-table"}},
                       {"data", {Json{{"key", "number"}, {"label", "Number"}, {"format", "integer"}}}}};
    constexpr int kVersion = 48, kGeckoVersion = 29;
    const Json meta = {{"interval", static_cast<double>(experiment_.run.period_ns) / 1e6},
                       {"startTime", static_cast<double>(start_realtime_ns) / 1e6},
                       {"processType", 0},
                       {"product", views::base_name(experiment_.run.program)},
                       {"importedFrom", "Culprit"},
                       {"stackwalk", 1},
                       {"version", kGeckoVersion},
                       {"preprocessedProfileVersion", kVersion},
                       {"symbolicated", true},
                       {"usesOnlyOneStackType", true},
                       {"doesNotUseFrameImplementation", true},
                       {"sourceCodeIsNotOnSearchfox", true},
                       {"sampleUnits", {{"time", "ms"}, {"eventDelay", "ms"}, {"threadCPUDelta", "ns"}}},
                       {"categories",
                        {category("Other", "grey"), category("code", "blue"), category("waiting", "red"),
                         category("run-time library", "lightblue")}},
                       {"markerSchema", {wait, thread_wait, mark}}};
    out_ << "{\"meta\":" << meta.dump(-1, ' ', false, Json::error_handler_t::replace) << ",\n";
  }

  void write_samples(const ThreadData& thread, StackTables& tables) {
    const std::vector<Sample>& samples = thread.samples;
    out_ << R"("samples":{"weightType":")" << weights_ << R"(","length":)" << samples.size() << ',';
    column(out_, "stack", samples.size(), [&](std::size_t i) {
      const std::uint32_t stack = tables.stack(samples[i].context);
      return stack == kNoStack ? std::string("null") : std::to_string(stack);
    });
    out_ << ",\n";
    column(out_, "time", samples.size(), [&](std::size_t i) { return milliseconds(samples[i].ns); });
    out_ << ",\n";
    column(out_, "weight", samples.size(), [&](std::size_t i) { return weight(samples[i].weight_ns); });
    out_ << "},\n";
  }

  void write_markers(const ThreadData& thread, StackTables& tables, const RunLines* lines) {
    const std::vector<Marker>& markers = thread.markers;
    const std::size_t count = markers.size();
    const auto is_wait = [&](std::size_t i) { return markers[i].kind != Marker::iterates; };
    out_ << "\"markers\":{\"length\":" << count << ',';
    column(out_, "name", count, [&](std::size_t i) {
      return tables.text(is_wait(i) ? std::string(metrics::name_of(markers[i].wait.pattern)) : "iteration");
    });
    out_ << ',';
    column(out_, "startTime", count, [&](std::size_t i) { return milliseconds(markers[i].begin_ns); });
    out_ << ',';
    column(out_, "endTime", count,
           [&](std::size_t i) { return is_wait(i) ? milliseconds(markers[i].end_ns) : std::string("null"); });
    out_ << ',';
    column(out_, "phase", count, [&](std::size_t i) { return is_wait(i) ? 1 : 0; });
    out_ << ',';
    column(out_, "category", count,
           [&](std::size_t i) { return int{is_wait(i) ? StackCategory::waiting : StackCategory::other}; });
    out_ << ",\n";
    column(out_, "data", count, [&](std::size_t i) { return data_of(markers[i], lines); });
    out_ << "},\n";
  }

  [[nodiscard]] std::string weight(std::uint64_t value) const {
    return weights_ == "tracing-ms" ? milliseconds(static_cast<std::int64_t>(value)) : std::to_string(value);
  }

  [[nodiscard]] std::string data_of(const Marker& marker, const RunLines* lines) const {
    if (marker.kind == Marker::thread_waits) return R"({"type":"Thread wait"})";
    if (marker.kind == Marker::iterates)
      return fmt::format(R"({{"type":"Iteration","number":{}}})", marker.iteration);
    std::string whom = "nobody", by;
    if (marker.wait.cause != database::kNone && lines != nullptr) {
      whom = location_label(experiment_, lines->replay().lines()[marker.wait.cause].location);
      by = label_of(marker.wait.cause_context);
    }
    return R"({"type":"Wait","call":)" + json_text(label_of(marker.wait.context)) +
           ",\"whom\":" + json_text(whom) + ",\"by\":" + json_text(by) + '}';
  }

  [[nodiscard]] std::string label_of(ContextId context) const {
    return views::label(views::frame_of(experiment_, experiment_.contexts[context]));
  }

  std::ostream& out_;
  const database::Contents& experiment_;
  std::string_view weights_;
  bool first_ = true;
};

/// How the viewer shows a metric's values.
std::string_view weights_of(const views::Column& column) {
  return column.unit == "s" ? "tracing-ms" : column.unit == "bytes" ? "bytes" : "samples";
}

}  // namespace

void write_firefox(std::ostream& out, const RunLines& lines) {
  const database::Contents& experiment = lines.experiment();
  ProfileWriter profile(out, experiment);
  for (std::size_t line = 0; line < lines.replay().lines().size(); ++line) {
    ThreadData thread{.location = lines.replay().lines()[line].location, .samples = {}, .markers = {}};
    Collector collector(thread, lines);
    lines.run(line, collector);
    profile.add(thread, &lines);
  }
  profile.finish();
}

void write_firefox_profile(std::ostream& out, const views::Figures& figures, const views::Column& column) {
  const database::Contents& experiment = figures.experiment();
  ProfileWriter profile(out, experiment, weights_of(column));
  for (const std::uint32_t location : figures.locations()) {
    ThreadData thread{.location = location, .samples = {}, .markers = {}};
    std::uint64_t before = 0;
    for (const database::Value& value : figures.source().profile_values(location)) {
      if (value.metric != column.metric) continue;
      thread.samples.push_back(
          {.ns = static_cast<std::int64_t>(before), .weight_ns = value.value, .context = value.index});
      before += value.value;
    }
    profile.add(thread, nullptr);
  }
  profile.finish();
}

}  // namespace culprit::viewer
