// Writes pprof's profile (profile.proto): a sample for each thread and context that has values. A location is
// a procedure with what is inlined into it, innermost first, as pprof has it; loops, call sites and
// statements only give it its line. Everything that recurs is written once and referred to by number. Cost:
// one reading of each thread's values, and one stack per context.
#include "export/pprof.hpp"

#include "print/text.hpp"
#include "profile.pb.h"
#include "request/errors.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include <zlib.h>

namespace culprit::viewer {

namespace {

namespace pprof = perftools::profiles;
using database::ContextId;
using database::ContextKind;

/// A procedure that ran as such, and what was inlined into it; the innermost last.
struct PhysicalFrame {
  std::uint64_t mapping = 0;
  std::vector<std::pair<std::uint64_t, std::int64_t>> lines;  ///< function, line
};

class ProfileBuilder {
 public:
  explicit ProfileBuilder(const views::Figures& figures)
      : figures_(figures), experiment_(figures.experiment()), stacks_(experiment_.contexts.size()) {
    text("");
    for (std::uint32_t metric = 0; metric < experiment_.metrics.size(); ++metric) {
      if (!experiment_.metrics[metric].summary_only) add_type(metric);
    }
  }

  void describe(const views::Column& column) {
    const database::Run& run = experiment_.run;
    mapping(run.program);
    profile_.set_time_nanos(run.start_realtime_ns);
    profile_.set_duration_nanos(static_cast<std::int64_t>(run.duration_ns));
    if (run.period_ns != 0) {
      profile_.mutable_period_type()->set_type(text("REALTIME"));
      profile_.mutable_period_type()->set_unit(text("nanoseconds"));
      profile_.set_period(static_cast<std::int64_t>(run.period_ns));
    }
    profile_.set_default_sample_type(text(column.name.event));
    profile_.add_comment(text(shell_line(run.command)));
  }

  void add_samples(std::uint32_t location) {
    std::vector<std::int64_t> values(types_.size(), 0);
    const std::vector<database::Value> all = figures_.source().profile_values(location);
    for (std::size_t next = 0; next < all.size();) {
      const ContextId context = all[next].index;
      std::fill(values.begin(), values.end(), 0);
      for (; next < all.size() && all[next].index == context; ++next) {
        const auto type = types_.find(all[next].metric);
        if (type != types_.end()) values[type->second] = static_cast<std::int64_t>(all[next].value);
      }
      add_sample(location, context, values);
    }
  }

  /// The last call.
  [[nodiscard]] std::string finish() {
    for (const std::string* each : in_order_) profile_.add_string_table(*each);
    std::string bytes;
    // Messages are limited to 2 GiB, which SerializeToString reports by failing.
    if (!profile_.SerializeToString(&bytes))
      throw CommandError(
          "export: pprof: the profile exceeds the 2 GiB of its format (export one of few ranks)");
    return bytes;
  }

 private:
  void add_type(std::uint32_t metric) {
    // By convention the count of events comes first.
    const database::Metric& self = experiment_.metrics[metric];
    const auto index = static_cast<std::size_t>(profile_.sample_type_size());
    pprof::ValueType* const type = profile_.add_sample_type();
    type->set_type(text(self.name));
    const std::string unit = self.name == "samples" ? "count" : self.unit;
    type->set_unit(text(unit == "ns" ? "nanoseconds" : unit));
    types_[metric] = index;
    if (self.name != "samples" || index == 0) return;
    profile_.mutable_sample_type()->SwapElements(0, static_cast<int>(index));
    for (auto& [other, place] : types_) {
      if (place == 0) place = index;
    }
    types_[metric] = 0;
  }

  std::int64_t text(std::string_view value) {
    const auto [found, added] =
        texts_.try_emplace(print::spelled(value), static_cast<std::int64_t>(texts_.size()));
    if (added) in_order_.push_back(&found->first);
    return found->second;
  }

  std::uint64_t mapping(std::string_view module) {
    if (module.empty()) return 0;
    const auto [found, added] = mappings_.try_emplace(std::string(module), mappings_.size() + 1);
    if (!added) return found->second;
    pprof::Mapping* const made = profile_.add_mapping();
    made->set_id(found->second);
    made->set_filename(text(module));
    for (const database::ModuleInfo& info : experiment_.modules) {
      if (info.path == module) made->set_build_id(text(info.build_id));
    }
    // It holds all that is known: pprof need not look at binaries.
    made->set_has_functions(true);
    made->set_has_filenames(true);
    made->set_has_line_numbers(true);
    made->set_has_inline_frames(true);
    return found->second;
  }

  std::uint64_t function(const views::Frame& frame) {
    const std::tuple key{text(label(frame)), text(frame.file), static_cast<std::int64_t>(frame.line)};
    const auto [found, added] = functions_.try_emplace(key, functions_.size() + 1);
    if (!added) return found->second;
    pprof::Function* const made = profile_.add_function();
    made->set_id(found->second);
    made->set_name(std::get<0>(key));
    made->set_system_name(std::get<0>(key));
    made->set_filename(std::get<1>(key));
    made->set_start_line(std::get<2>(key));
    return found->second;
  }

  std::uint64_t location(const PhysicalFrame& frame) {
    const auto [found, added] = locations_.try_emplace({frame.mapping, frame.lines}, locations_.size() + 1);
    if (!added) return found->second;
    pprof::Location* const made = profile_.add_location();
    made->set_id(found->second);
    made->set_mapping_id(frame.mapping);
    auto innermost_first = frame.lines;
    std::ranges::reverse(innermost_first);
    for (const auto& [function, line] : innermost_first) {
      pprof::Line* const each = made->add_line();
      each->set_function_id(function);
      each->set_line(line);
    }
    return found->second;
  }

  [[nodiscard]] std::vector<PhysicalFrame> frames_of(ContextId context) {
    std::vector<PhysicalFrame> frames;
    for (const ContextId id : views::path_to(experiment_, context)) {
      const views::Frame frame = views::frame_of(experiment_, experiment_.contexts[id]);
      switch (frame.kind) {
        case ContextKind::root:
        case ContextKind::thread_root:
          break;
        case ContextKind::loop:
        case ContextKind::call:
        case ContextKind::statement:
          // The line that the procedure around is at; the innermost one counts.
          if (!frames.empty() && frame.line != 0) frames.back().lines.back().second = frame.line;
          break;
        case ContextKind::inlined:
          if (frames.empty()) frames.push_back({mapping(frame.module), {}});
          frames.back().lines.emplace_back(function(frame), 0);
          break;
        default:
          frames.push_back({mapping(frame.module), {{function(frame), 0}}});
          break;
      }
    }
    return frames;
  }

  /// The leaf first.
  const std::vector<std::uint64_t>& stack(ContextId context) {
    std::vector<std::uint64_t>& known = stacks_[context];
    if (!known.empty()) return known;
    std::vector<PhysicalFrame> frames = frames_of(context);
    std::ranges::reverse(frames);
    for (const PhysicalFrame& frame : frames) known.push_back(location(frame));
    // Time outside of any procedure must not get lost: a sample without locations is none.
    if (known.empty()) {
      const views::Frame frame = views::frame_of(experiment_, experiment_.contexts[context]);
      known.push_back(location({0, {{function(frame), 0}}}));
    }
    return known;
  }

  void add_label(pprof::Sample& sample, std::string_view key, const std::string& value) {
    pprof::Label* const label = sample.add_label();
    label->set_key(text(key));
    // As texts: pprof drops numbers that are 0, and so rank 0.
    label->set_str(text(value));
  }

  void add_sample(std::uint32_t number, ContextId context, const std::vector<std::int64_t>& values) {
    pprof::Sample* const sample = profile_.add_sample();
    for (const std::uint64_t each : stack(context)) sample->add_location_id(each);
    for (const std::int64_t value : values) sample->add_value(value);
    const database::LocationEntry thread = experiment_.locations[number];
    if (thread.rank >= 0) {
      add_label(*sample, "rank", std::to_string(thread.rank));
    } else {
      add_label(*sample, "process", location_label(experiment_, number));
    }
    add_label(*sample, "thread", std::to_string(thread.thread));
    add_label(*sample, "role", experiment_.roles[thread.role].name);
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  pprof::Profile profile_;
  std::map<std::uint32_t, std::size_t> types_;  // place among a sample's values, by metric
  std::map<std::string, std::int64_t> texts_;
  std::vector<const std::string*> in_order_;
  std::map<std::string, std::uint64_t> mappings_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::uint64_t> functions_;
  std::map<std::pair<std::uint64_t, std::vector<std::pair<std::uint64_t, std::int64_t>>>, std::uint64_t>
      locations_;
  std::vector<std::vector<std::uint64_t>> stacks_;  // by context
};

}  // namespace

void write_pprof(std::ostream& out, const views::Figures& figures, const views::Column& column) {
  ProfileBuilder builder(figures);
  builder.describe(column);
  for (const std::uint32_t location : figures.locations()) builder.add_samples(location);
  write_gzip(out, builder.finish());
}

namespace {

constexpr int kGzip = 16;  // added to the window's size: a gzip header and trailer around the data

}  // namespace

void write_gzip(std::ostream& out, std::string_view bytes) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::array<char, 65536> buffer;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    const std::size_t part = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    // zlib does not change its input, but older versions do not say so.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(part);
    const bool last = part == bytes.size();
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      state = ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
      out.write(buffer.data(), static_cast<std::streamsize>(buffer.size() - stream.avail_out));
    } while (stream.avail_out == 0);
    bytes.remove_prefix(part);
  }
  ::deflateEnd(&stream);
}

}  // namespace culprit::viewer
