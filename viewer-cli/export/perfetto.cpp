// Perfetto's own format rather than Chrome's JSON: a third of the size, nanoseconds, names once per thread,
// and arrows by number. Rules that a reader may rely on (perfetto.dev, "TrackEvent" and "Synthetic track
// events"): packets of a sequence in the order of time, slices of a track nested, names defined on their
// sequence before or where they are used, each arrow begun once and ended once, later.
#include "export/perfetto.hpp"

#include "bytes/varint.hpp"
#include "metrics/wait_pattern.hpp"
#include "perfetto.pb.h"
#include "print/text.hpp"
#include "text/frame_json.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace culprit::viewer {
namespace {

using database::ContextId;

constexpr std::uint32_t kRealtime = 1, kBootTime = 6;
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;
struct TrackCategory {
  enum Number : std::uint8_t { code = 1, mpi = 2, waiting = 3, iteration = 4 };
};
constexpr std::array<const char*, 4> kCategories = {"code", "mpi", "wait", "iteration"};
struct Annotation {
  enum Number : std::uint8_t { waits_for = 1, ended_by = 2, continued = 3, number = 4 };
};
constexpr std::array<const char*, 4> kAnnotations = {"waits for", "ended by", "continued", "number"};

/// Processes and threads get numbers from 1 on in place of the system's, which several hosts may use at a
/// time.
class PacketWriter {
 public:
  explicit PacketWriter(std::ostream& out) : out_(out) {}

  void write(const perfetto::TracePacket& packet) {
    constexpr char kTag = 0x0A;  // of Trace::packet
    bytes_.clear();
    packet.AppendToString(&bytes_);
    out_.put(kTag);
    bytes::write_varint(bytes_.size(), [this](unsigned char byte) { out_.put(static_cast<char>(byte)); });
    out_.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

 private:
  std::ostream& out_;
  std::string bytes_;
};

/// What a thread waited for others of its process: on a track below the thread's, which exists where there is
/// such a wait, since frames that samples show do not end where waits do.
class ThreadWaitTrack {
 public:
  /// `above`: the thread's track.
  ThreadWaitTrack(PacketWriter& out, std::uint64_t above, std::uint64_t track, std::uint32_t sequence)
      : out_(out), above_(above), track_(track), sequence_(sequence) {}

  void add(std::uint64_t begin_ns, std::uint64_t end_ns, database::WaitPattern pattern) {
    if (!begun_) describe();
    begun_ = true;
    perfetto::TracePacket packet = event(begin_ns, perfetto::TrackEvent::TYPE_SLICE_BEGIN);
    packet.mutable_track_event()->add_categories(kCategories[TrackCategory::waiting - 1]);
    packet.mutable_track_event()->set_name(std::string(metrics::name_of(pattern)));
    out_.write(packet);
    out_.write(event(end_ns, perfetto::TrackEvent::TYPE_SLICE_END));
  }

 private:
  void describe() {
    perfetto::TracePacket packet;
    packet.set_trusted_packet_sequence_id(sequence_);
    packet.set_sequence_flags(kStateCleared);
    packet.set_first_packet_on_sequence(true);
    packet.mutable_track_descriptor()->set_uuid(track_);
    packet.mutable_track_descriptor()->set_parent_uuid(above_);
    packet.mutable_track_descriptor()->set_name("waits for threads");
    out_.write(packet);
  }
  [[nodiscard]] perfetto::TracePacket event(std::uint64_t ns, perfetto::TrackEvent::Type type) const {
    perfetto::TracePacket packet;
    packet.set_timestamp(ns);
    packet.set_trusted_packet_sequence_id(sequence_);
    packet.mutable_track_event()->set_track_uuid(track_);
    packet.mutable_track_event()->set_type(type);
    return packet;
  }

  PacketWriter& out_;
  std::uint64_t above_, track_;
  std::uint32_t sequence_;
  bool begun_ = false;
};

/// One thread: a track, and a sequence of packets.
class TrackWriter final : public merge::LineEvents {
 public:
  TrackWriter(PacketWriter& out, const RunLines& lines, std::uint64_t track, std::uint32_t sequence,
              const ThreadWaitTrack& waits)
      : out_(out), lines_(lines), sequence_(sequence), waits_(waits) {
    perfetto::TracePacket first;
    first.set_trusted_packet_sequence_id(sequence_);
    first.set_sequence_flags(kStateCleared);
    first.set_first_packet_on_sequence(true);
    first.mutable_trace_packet_defaults()->mutable_track_event_defaults()->set_track_uuid(track);
    for (std::size_t i = 0; i < kCategories.size(); ++i)
      intern(first.mutable_interned_data()->add_event_categories(), i + 1, kCategories.at(i));
    for (std::size_t i = 0; i < kAnnotations.size(); ++i)
      intern(first.mutable_interned_data()->add_debug_annotation_names(), i + 1, kAnnotations.at(i));
    out_.write(first);
  }

  void enter(std::uint64_t ns, ContextId frame) override {
    if (!lines_.is_shown(frame)) return;
    perfetto::TrackEvent& event = begin(ns, perfetto::TrackEvent::TYPE_SLICE_BEGIN, TrackCategory::code);
    name_scope(event, frame, lines_.experiment().contexts[frame]);
    finish();
  }

  void leave(std::uint64_t ns, ContextId frame) override {
    if (lines_.is_shown(frame)) end(ns);
  }

  void enter_call(std::uint64_t ns, const merge::LineCall& call,
                  std::span<const std::uint64_t> arrows) override {
    perfetto::TrackEvent& event = begin(ns, perfetto::TrackEvent::TYPE_SLICE_BEGIN, TrackCategory::mpi);
    name_call(event, call.context);
    for (const std::uint64_t arrow : arrows) event.add_flow_ids(arrow);
    finish();
  }

  void leave_call(std::uint64_t ns, const merge::LineCall& /*call*/) override { end(ns); }

  void begin_wait(std::uint64_t ns, const merge::LineWait& wait) override {
    perfetto::TrackEvent& event = begin(ns, perfetto::TrackEvent::TYPE_SLICE_BEGIN, TrackCategory::waiting);
    event.set_name_iid(name(std::string(metrics::name_of(wait.pattern))));
    if (wait.cause != database::kNone) describe_cause(event, wait);
    if (wait.continued) {
      perfetto::DebugAnnotation* const note = event.add_debug_annotations();
      note->set_name_iid(Annotation::continued);
      note->set_bool_value(true);
    }
    finish();
  }

  /// The arrow ends a nanosecond later: never before it begins.
  void end_wait(std::uint64_t ns, const merge::LineWait& wait) override {
    end(ns);
    if (wait.arrow != 0 && ns >= wait.end_ns) ended_.push_back({.ns = ns + 1, .wait = wait});
  }

  void iteration(std::uint64_t ns, std::uint64_t number_of) override {
    perfetto::TrackEvent& event = begin(ns, perfetto::TrackEvent::TYPE_INSTANT, TrackCategory::iteration);
    event.set_name_iid(name("iteration"));
    perfetto::DebugAnnotation* const note = event.add_debug_annotations();
    note->set_name_iid(Annotation::number);
    note->set_uint_value(number_of);
    finish();
  }

  void thread_wait(std::uint64_t begin_ns, std::uint64_t end_ns, database::WaitPattern pattern) override {
    waits_.add(begin_ns, end_ns, pattern);
  }

  /// Behind the last event: arrows that end there.
  void finish_line() { write_ends(std::numeric_limits<std::uint64_t>::max()); }

 private:
  template <class Interned>
  static void intern(Interned* into, std::uint64_t iid, const std::string& text) {
    into->set_iid(iid);
    into->set_name(text);
  }

  /// Ends of arrows that lie before `ns` or there.
  void write_ends(std::uint64_t ns) {
    std::vector<Ended> due;
    while (!ended_.empty() && ended_.front().ns <= ns) {
      due.push_back(ended_.front());
      ended_.erase(ended_.begin());
    }
    for (const Ended& each : due) {
      perfetto::TrackEvent& event =
          begin(each.ns, perfetto::TrackEvent::TYPE_INSTANT, TrackCategory::waiting);
      event.set_name_iid(name(std::string(metrics::name_of(each.wait.pattern)) + " ended"));
      event.add_terminating_flow_ids(each.wait.arrow);
      describe_cause(event, each.wait);
      finish();
    }
  }

  perfetto::TrackEvent& begin(std::uint64_t ns, perfetto::TrackEvent::Type type,
                              TrackCategory::Number category) {
    if (!ended_.empty() && ended_.front().ns <= ns) write_ends(ns);
    packet_.Clear();
    last_ns_ = std::max(last_ns_, ns);
    packet_.set_timestamp(last_ns_);
    packet_.set_trusted_packet_sequence_id(sequence_);
    packet_.set_sequence_flags(kNeedsState);
    perfetto::TrackEvent& event = *packet_.mutable_track_event();
    event.set_type(type);
    event.add_category_iids(category);
    return event;
  }

  void finish() { out_.write(packet_); }

  void end(std::uint64_t ns) {
    begin(ns, perfetto::TrackEvent::TYPE_SLICE_END, TrackCategory::code).clear_category_iids();
    finish();
  }

  /// The number of a name on this sequence; new ones go with the packet.
  std::uint64_t name(const std::string& text) {
    const auto [found, added] = names_.try_emplace(text, names_.size() + 1);
    if (added) intern(packet_.mutable_interned_data()->add_event_names(), found->second, text);
    return found->second;
  }

  std::uint64_t place(const views::Frame& at, const std::string& function) {
    if (at.file.empty()) return 0;
    const auto [found, added] = places_.try_emplace(
        std::string(at.file) + ':' + std::to_string(at.line) + ' ' + function, places_.size() + 1);
    if (added) {
      perfetto::SourceLocation* const made = packet_.mutable_interned_data()->add_source_locations();
      made->set_iid(found->second);
      made->set_file_name(std::string(at.file));
      made->set_function_name(function);
      made->set_line_number(at.line);
    }
    return found->second;
  }

  /// What a context is called and where it lies, on this sequence.
  struct Named {
    std::uint64_t name = 0, place = 0;
  };

  void set(perfetto::TrackEvent& event, const Named& named) {
    event.set_name_iid(named.name);
    if (named.place != 0) event.set_source_location_iid(named.place);
  }

  void name_scope(perfetto::TrackEvent& event, ContextId frame, const database::Context& context) {
    const auto known = scopes_.find(frame);
    if (known != scopes_.end()) return set(event, known->second);
    const std::string text = lines_.name_of(frame);
    set(event, scopes_[frame] = {.name = name(text),
                                 .place = place(views::frame_of(lines_.experiment(), context), text)});
  }

  void name_call(perfetto::TrackEvent& event, ContextId call) {
    const auto known = calls_.find(call);
    if (known != calls_.end()) return set(event, known->second);
    const std::string text = lines_.name_of(call);
    set(event, calls_[call] = {.name = name(text), .place = place(lines_.call_site(call), text)});
  }

  void describe_cause(perfetto::TrackEvent& event, const merge::LineWait& wait) {
    perfetto::DebugAnnotation* const whom = event.add_debug_annotations();
    whom->set_name_iid(Annotation::waits_for);
    whom->set_string_value(location_label(lines_.experiment(), lines_.replay().lines()[wait.cause].location));
    perfetto::DebugAnnotation* const by = event.add_debug_annotations();
    by->set_name_iid(Annotation::ended_by);
    by->set_string_value(lines_.name_of(wait.cause_context));
  }

  struct Ended {
    std::uint64_t ns = 0;
    merge::LineWait wait;
  };

  PacketWriter& out_;
  const RunLines& lines_;
  std::uint32_t sequence_;
  ThreadWaitTrack waits_;
  std::vector<Ended> ended_;  // by time
  perfetto::TracePacket packet_;
  std::uint64_t last_ns_ = 0;
  std::unordered_map<std::string, std::uint64_t> names_, places_;
  std::unordered_map<ContextId, Named> scopes_, calls_;
};

/// Processes, threads, and what time it was.
class Descriptions {
 public:
  Descriptions(PacketWriter& out, const RunLines& lines) : out_(out), lines_(lines) {
    perfetto::TracePacket packet = begin();
    packet.set_sequence_flags(kStateCleared);
    packet.set_first_packet_on_sequence(true);
    const merge::Moment start = lines.replay().start();
    add_clock(packet, kBootTime, start.ns);
    add_clock(packet, kRealtime, static_cast<std::uint64_t>(start.realtime_ns));
    out_.write(packet);
  }

  /// Tracks are numbered like lines, from 1 on; those of processes come behind them.
  void add_line(std::size_t line) {
    const std::vector<merge::ReplayedLine>& all = lines_.replay().lines();
    const database::LocationEntry location = lines_.experiment().locations[all[line].location];
    const std::tuple process{location.rank, location.pid, location.host};
    if (process_ == 0 || process != before_) {
      before_ = process;
      ++process_;
      add_process(location, all.size() + static_cast<std::size_t>(process_));
    }
    perfetto::TracePacket packet = begin();
    perfetto::TrackDescriptor& track = *packet.mutable_track_descriptor();
    track.set_uuid(line + 1);
    track.set_parent_uuid(all.size() + static_cast<std::size_t>(process_));
    track.mutable_thread()->set_pid(process_);
    track.mutable_thread()->set_tid(static_cast<std::int32_t>(kFirstThread + line));
    track.mutable_thread()->set_thread_name(thread_name(location));
    out_.write(packet);
  }

 private:
  /// Threads have other numbers than processes: equal ones would make a thread its process's main one.
  static constexpr std::size_t kFirstThread = std::size_t{1} << 24;
  static constexpr std::uint32_t kSequence = 1;

  static perfetto::TracePacket begin() {
    perfetto::TracePacket packet;
    packet.set_trusted_packet_sequence_id(kSequence);
    return packet;
  }

  static void add_clock(perfetto::TracePacket& packet, std::uint32_t clock, std::uint64_t ns) {
    perfetto::ClockSnapshot::Clock* const made = packet.mutable_clock_snapshot()->add_clocks();
    made->set_clock_id(clock);
    made->set_timestamp(ns);
  }

  void add_process(const database::LocationEntry& location, std::uint64_t uuid) {
    const std::string host_pid = print::spelled(process_of(location));
    perfetto::TracePacket packet = begin();
    perfetto::TrackDescriptor& track = *packet.mutable_track_descriptor();
    track.set_uuid(uuid);
    track.mutable_process()->set_pid(process_);
    track.mutable_process()->set_process_name(
        location.rank < 0 ? host_pid : "rank " + std::to_string(location.rank) + " (" + host_pid + ')');
    for (const std::string& word : lines_.experiment().run.command)
      track.mutable_process()->add_cmdline(print::spelled(word));
    out_.write(packet);
  }

  [[nodiscard]] std::string thread_name(const database::LocationEntry& location) const {
    const std::string& role = lines_.experiment().roles[location.role].name;
    return location.thread == 0 ? role : "thread " + std::to_string(location.thread) + ' ' + role;
  }

  PacketWriter& out_;
  const RunLines& lines_;
  std::int32_t process_ = 0;
  std::tuple<std::int32_t, std::uint64_t, std::string_view> before_{-2, 0, ""};
};

}  // namespace

void write_perfetto(std::ostream& out, const RunLines& lines) {
  PacketWriter packets(out);
  Descriptions descriptions(packets, lines);
  const std::size_t count = lines.replay().lines().size();
  for (std::size_t line = 0; line < count; ++line) descriptions.add_line(line);
  for (std::size_t line = 0; line < count; ++line) {
    // Behind the tracks of threads and processes, of which there are not more.
    const ThreadWaitTrack waits(packets, line + 1, 2 * count + line + 1,
                                static_cast<std::uint32_t>(count + line + 2));
    TrackWriter track(packets, lines, line + 1, static_cast<std::uint32_t>(line + 2), waits);
    lines.run(line, track);
    track.finish_line();
  }
}

}  // namespace culprit::viewer
