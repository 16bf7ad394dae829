// Summaries of processes as bytes (docs/algorithms.md 16): each as its difference from the one before, and
// what several share by number, so that a process takes some 40 bytes. Cost: linear.
#include "merge/input/process_packing.hpp"

#include "bytes/varint.hpp"

#include <algorithm>

namespace culprit::merge {
namespace {

using bytes::unzigzag;
using bytes::zigzag;

/// From one time to a later one, as a rule; any two will do.
constexpr std::uint64_t since(std::uint64_t before, std::uint64_t ns) {
  return zigzag(static_cast<std::int64_t>(ns - before));
}
constexpr std::uint64_t at(std::uint64_t before, std::uint64_t since) {
  return before + static_cast<std::uint64_t>(unzigzag(since));
}

template <class T>
const std::shared_ptr<const T>& named(const std::vector<std::shared_ptr<const T>>& all,
                                      std::uint64_t number) {
  if (number >= all.size()) throw database::Malformed("a summary refers to something that does not exist");
  return all[number];
}

template <class Numbers, class T>
std::uint64_t number_in(Numbers& numbers, std::vector<std::shared_ptr<const T>>& all,
                        const std::shared_ptr<const T>& thing) {
  const auto [known, is_new] = numbers.try_emplace(thing.get(), all.size());
  if (is_new) all.push_back(thing);
  return known->second;
}

}  // namespace

std::uint64_t ProcessPacker::number(const std::shared_ptr<const Launch>& launch) {
  return number_in(numbers_, shared_.launches, launch);
}

std::uint64_t ProcessPacker::number(const std::shared_ptr<const cct::ModuleKey>& module) {
  return number_in(numbers_, shared_.modules, module);
}

void ProcessPacker::add(const ProcessSummary& process, database::Encoder& into) {
  database::Encoder& to = packed_;
  to.clear();
  const auto [end, unused] = std::ranges::mismatch(path_, process.path);
  const auto same = static_cast<std::size_t>(end - path_.begin());
  to.put_varint(same);
  to.put_string(std::string_view(process.path).substr(same));
  path_ = process.path;
  to.put_varint(process.rank ? zigzag(*process.rank) + 1 : 0);
  to.put(static_cast<std::uint8_t>(process.end));
  to.put(process.key);
  to.put<std::uint8_t>(process.forked ? 1 : 0);
  to.put<std::uint8_t>(process.trace_lost ? 1 : 0);
  to.put_varint(zigzag(process.start_realtime_ns));
  to.put_varint(since(process.start_ns, process.end_ns));
  for (const std::uint64_t value :
       {process.bytes, process.cells, process.pid, process.start_ns, process.iterations, process.trace_bytes,
        number(process.launch), std::uint64_t{process.flaws.size()}, std::uint64_t{process.threads.size()}})
    to.put_varint(value);
  for (const ModuleFlaws& flaws : process.flaws) {
    to.put_varint(number(flaws.module));
    to.put_varint(flaws.bridged);
    to.put_varint(flaws.partial);
    to.put<std::uint8_t>(flaws.no_unwind ? 1 : 0);
  }
  for (const ThreadSummary& thread : process.threads) {
    to.put_varint(thread.ordinal);
    to.put<std::uint8_t>(thread.worker ? 1 : 0);
    to.put_varint(since(process.start_ns, thread.start_ns));
    to.put_varint(since(process.end_ns, thread.end_ns));
    to.put_varint(since(thread.end_ns - thread.start_ns, thread.lived_ns));
    to.put_varint(thread.start_module ? number(thread.start_module) + 1 : 0);
    to.put_varint(thread.start_offset);
    to.put_varint(thread.entry.size());
    for (const EntryFrame& frame : thread.entry) {
      to.put_varint(number(frame.module));
      to.put_varint(frame.offset);
      to.put_varint(frame.caller);
    }
  }
  into.put(static_cast<std::uint32_t>(to.size()));
  into.append(to.bytes());
}

namespace {

void unpack_flaws(database::Decoder& from, const SharedByProcesses& shared, ModuleFlaws& flaws) {
  flaws.module = named(shared.modules, from.get_varint());
  flaws.bridged = from.get_varint();
  flaws.partial = from.get_varint();
  flaws.no_unwind = from.get<std::uint8_t>() != 0;
}

void unpack_thread(database::Decoder& from, const SharedByProcesses& shared, const ProcessSummary& process,
                   ThreadSummary& thread) {
  thread.ordinal = static_cast<std::uint32_t>(from.get_varint());
  thread.worker = from.get<std::uint8_t>() != 0;
  thread.start_ns = at(process.start_ns, from.get_varint());
  thread.end_ns = at(process.end_ns, from.get_varint());
  thread.lived_ns = at(thread.end_ns - thread.start_ns, from.get_varint());
  const std::uint64_t module = from.get_varint();
  thread.start_module = module == 0 ? nullptr : named(shared.modules, module - 1);
  thread.start_offset = from.get_varint();
  const std::uint64_t frames = from.get_varint();
  if (frames > kEntryFrames) throw database::Malformed("a thread begins with too many frames");
  thread.entry.resize(frames);
  for (EntryFrame& frame : thread.entry) {
    frame.module = named(shared.modules, from.get_varint());
    frame.offset = from.get_varint();
    frame.caller = static_cast<std::uint32_t>(std::min<std::uint64_t>(from.get_varint(), kEntryFrames));
  }
}

}  // namespace

void unpack(database::ByteSpan packed, const SharedByProcesses& shared, ProcessSummary& process) {
  database::Decoder from(packed, "a summary");
  const std::uint64_t same = from.get_varint();
  if (same > process.path.size()) throw database::Malformed("a summary's path begins like none before it");
  process.path.resize(same);
  process.path += from.get_string();
  const std::uint64_t rank = from.get_varint();
  process.rank.reset();
  if (rank != 0) process.rank = static_cast<std::int32_t>(unzigzag(rank - 1));
  process.end = static_cast<measurement::EndReason>(from.get<std::uint8_t>());
  process.key = from.get<std::uint64_t>();
  process.forked = from.get<std::uint8_t>() != 0;
  process.trace_lost = from.get<std::uint8_t>() != 0;
  process.start_realtime_ns = from.get_zigzag();
  const std::uint64_t length = from.get_varint();
  for (std::uint64_t* const value : {&process.bytes, &process.cells, &process.pid, &process.start_ns,
                                     &process.iterations, &process.trace_bytes})
    *value = from.get_varint();
  process.end_ns = at(process.start_ns, length);
  process.launch = named(shared.launches, from.get_varint());
  const std::uint64_t flaws = from.get_varint();
  const std::uint64_t threads = from.get_varint();
  if (flaws > packed.size() || threads > packed.size())
    throw database::Malformed("a summary of more than it holds");
  process.flaws.resize(flaws);
  for (ModuleFlaws& one : process.flaws) unpack_flaws(from, shared, one);
  process.threads.resize(threads);
  for (ThreadSummary& thread : process.threads) unpack_thread(from, shared, process, thread);
}

}  // namespace culprit::merge
