// Reads the block of calls in progress. The process may be writing it: a call's words are right where two
// counts around them agree, so they are read again until they do.
#include "measurement/live_image.hpp"
#include "measurement/published_calls.hpp"
#include "measurement/reading.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace culprit::measurement {
namespace {

using calls::Call;
using calls::CallKind;
using calls::Calls;

constexpr int kAttemptsToRead = 100;
constexpr std::size_t kMostFrames = 4096;

class CallReader {
 public:
  /// `stopped_ns`: of all stops of sampling that are over.
  CallReader(const InputFile& file, BlockMap blocks, std::size_t modules, std::uint64_t stopped_ns)
      : file_(file), blocks_(std::move(blocks)), modules_(modules), stopped_ns_(stopped_ns) {}

  PublishedCalls read();

 private:
  [[nodiscard]] std::uint64_t offset_of(std::size_t within) const {
    return blocks_.calls.front().offset + sizeof(layout::BlockHeader) + within;
  }
  template <typename T>
  [[nodiscard]] T load(std::size_t within) const {
    T object{};
    file_.copy(offset_of(within), reinterpret_cast<std::byte*>(&object), sizeof object);
    return object;
  }
  [[nodiscard]] PublishedThread read_thread(std::size_t index, const Call& first);
  [[nodiscard]] PublishedPlace place_of(std::uint32_t tree, std::uint32_t node, std::uint64_t tid) const;
  template <typename T>
  [[nodiscard]] bool load_unit(std::span<const Block> blocks, std::uint32_t unit, T& object) const;

  const InputFile& file_;
  const BlockMap blocks_;
  std::size_t modules_;
  std::uint64_t stopped_ns_;
};

/// What no writer leaves behind is put right.
void make_valid(Call& call) {
  if (call.kind > CallKind::finalize) call.kind = CallKind::other;
  call.name[calls::kNameBytes - 1] = '\0';
  if (call.left > call.entered) call.left = call.entered;
}

PublishedThread CallReader::read_thread(std::size_t index, const Call& first) {
  PublishedThread thread;
  thread.call = first;
  for (int i = 0; i < kAttemptsToRead && thread.call.done != thread.call.begun; ++i)
    thread.call = load<Call>(offsetof(Calls, call) + index * sizeof(Call));
  thread.whole = thread.call.done == thread.call.begun;
  make_valid(thread.call);
  thread.place = place_of(thread.call.tree, thread.call.node, thread.call.tid);
  return thread;
}

/// Reads what lies at a unit of an arena; false where no block of it has that. Some words are wanted of
/// arenas of megabytes, so these are not copied.
template <typename T>
bool CallReader::load_unit(std::span<const Block> blocks, std::uint32_t unit, T& object) const {
  if (unit % layout::kGranuleUnits < layout::kReservedUnits) return false;
  std::uint64_t at = std::uint64_t{unit} * layout::kUnit;
  for (const Block& block : blocks) {
    if (at + sizeof object <= block.available) {
      file_.copy(block.offset + at, reinterpret_cast<std::byte*>(&object), sizeof object);
      return true;
    }
    if (at < block.size) return false;  // cut off, or across a border
    at -= block.size;
  }
  return false;
}

/// A node's parent never changes, so its path is whole whenever it is read.
PublishedPlace CallReader::place_of(std::uint32_t tree, std::uint32_t node, std::uint64_t tid) const {
  PublishedPlace place;
  const auto found = blocks_.threads.find(tree);
  if (found == blocks_.threads.end()) return place;
  const std::span<const Block> blocks = found->second;
  layout::ThreadHeader head{};
  if (!load_unit(blocks, layout::kThreadHeaderUnit, head)) return place;
  if (head.tid != tid) return place;  // another thread's by now
  place.ordinal = head.ordinal;
  const auto key = [this](std::uint64_t offset, std::uint32_t module, std::uint32_t kind) {
    return cct::FrameKey{
        .offset = offset, .module = module < modules_ ? module : cct::kNoModule, .kind = frame_kind(kind)};
  };
  place.start_routine = key(head.start_offset, head.start_module, head.start_kind);
  if (head.wait_sequence % 2 != 0) {
    node = head.wait_node;
    place.sleeps_since = head.wait_enter_ns + stopped_ns_;
  }
  layout::Node at{};
  while (node > layout::kRootUnit && place.frames.size() < kMostFrames && load_unit(blocks, node, at)) {
    place.frames.push_back(key(at.offset, layout::module_of(at.place), layout::kind_of(at.place)));
    node = at.parent;
  }
  std::ranges::reverse(place.frames);
  return place;
}

PublishedCalls CallReader::read() {
  PublishedCalls result;
  if (blocks_.calls.empty() || blocks_.calls.front().available < layout::kGranule) return result;
  const auto all = std::make_unique<Calls>();
  file_.copy(offset_of(0), reinterpret_cast<std::byte*>(all.get()), sizeof *all);
  result.there = true;
  result.threads_lost = all->threads_lost;
  result.contexts_lost = all->contexts_lost;
  result.threads_gone = all->threads_gone;
  for (const calls::Context& context : all->context) {
    if (context.handle > 1 && context.kind <= calls::ContextKind::file) result.contexts.push_back(context);
  }
  for (std::size_t i = 0; i < calls::kThreads; ++i) {
    if (all->call[i].tid != 0) result.threads.push_back(read_thread(i, all->call[i]));
  }
  for (const calls::LockWait& wait : all->lock_wait) {
    if (wait.thread == 0 || wait.changes % 2 != 0) continue;
    result.lock_waits.push_back({.wait = wait, .place = place_of(wait.tree, wait.node, wait.thread)});
  }
  return result;
}

/// The header of a live measurement; null for what is none.
std::unique_ptr<layout::Header> live_header(const InputFile& file) {
  auto header = std::make_unique<layout::Header>();
  file.copy(0, reinterpret_cast<std::byte*>(header.get()), sizeof *header);
  if (std::memcmp(header->magic, layout::kLiveMagic, sizeof header->magic) != 0) return nullptr;
  return header;
}

}  // namespace

PublishedCalls read_published_calls(const std::string& path, std::size_t modules) {
  InputWindow window;
  InputFile file(path, window);
  const auto header = live_header(file);
  if (header == nullptr) return {};
  PublishedCalls result = CallReader(file, find_blocks(file), modules, header->stops.total).read();
  result.heartbeat_ns = header->clocks.heartbeat_ns;
  return result;
}

std::int64_t lived_until_ns(const std::string& path) {
  InputWindow window;
  InputFile file(path, window);
  const auto header = live_header(file);
  if (header == nullptr) return 0;
  const layout::Clocks& clocks = header->clocks;
  const std::uint64_t last = std::max(clocks.end_ns, clocks.heartbeat_ns);
  if (!can_be(clocks.start_ns, last, clocks.start_realtime_ns))
    throw damaged(path, "holds a time that cannot be");
  const std::uint64_t lived = last > clocks.start_ns ? last - clocks.start_ns : 0;
  return clocks.start_realtime_ns + static_cast<std::int64_t>(lived);
}

}  // namespace culprit::measurement
