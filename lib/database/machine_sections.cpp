#include "database/sections.hpp"

#include <algorithm>
#include <functional>

namespace culprit::database {

using format::Section;

void encode_machine(const Machine& machine, SectionBytes& sections) {
  Encoder threads, suspects;
  threads.append(std::as_bytes(std::span(machine.threads)));
  suspects.put(static_cast<std::uint32_t>(machine.suspects.size()));
  for (const MachineSuspect& suspect : machine.suspects) {
    suspects.put(static_cast<std::uint32_t>(suspect.kind));
    suspects.put<std::uint32_t>(suspect.by_others ? 1 : 0);
    suspects.put(suspect.processors);
    for (const std::uint64_t value :
         {suspect.wanted, suspect.others, suspect.free, suspect.quota, suspect.lost_ns, suspect.explains_ns})
      suspects.put(value);
    suspects.put(static_cast<std::uint32_t>(suspect.locations.size()));
    suspects.append(std::as_bytes(std::span(suspect.locations)));
  }
  sections[slot(Section::schedules)] = threads.take();
  sections[slot(Section::machine)] = suspects.take();
}

Machine decode_machine(ByteSpan threads, ByteSpan suspects) {
  Machine machine;
  machine.threads.resize(threads.size() / format::kScheduleSize);
  if (!machine.threads.empty())
    std::memcpy(machine.threads.data(), threads.data(), machine.threads.size() * format::kScheduleSize);
  if (suspects.empty()) return machine;  // from an older writer
  Decoder from(suspects, "the section on the machine");
  machine.suspects.resize(from.get_count(64));
  for (MachineSuspect& suspect : machine.suspects) {
    const auto kind = from.get<std::uint32_t>();
    if (kind >= kMachineKinds) from.fail("names an unknown kind");
    suspect.kind = static_cast<MachineKind>(kind);
    suspect.by_others = (from.get<std::uint32_t>() & 1) != 0;
    suspect.processors = from.get<std::uint32_t>();
    for (std::uint64_t* value : {&suspect.wanted, &suspect.others, &suspect.free, &suspect.quota,
                                 &suspect.lost_ns, &suspect.explains_ns})
      *value = from.get<std::uint64_t>();
    suspect.locations.resize(from.get_count(sizeof(std::uint32_t)));
    for (std::uint32_t& location : suspect.locations) location = from.get<std::uint32_t>();
  }
  return machine;
}

Bytes encode_varying_gaps(std::span<const VaryingGap> gaps) {
  Encoder to;
  to.append(std::as_bytes(gaps));
  return to.take();
}

std::vector<VaryingGap> decode_varying_gaps(ByteSpan bytes) {
  std::vector<VaryingGap> gaps(bytes.size() / sizeof(VaryingGap));
  if (!gaps.empty()) std::memcpy(gaps.data(), bytes.data(), gaps.size() * sizeof(VaryingGap));
  return gaps;
}

bool is_sound(std::span<const VaryingGap> gaps, std::size_t roles, std::size_t contexts) {
  return std::ranges::all_of(gaps, [=](const VaryingGap& gap) {
    return gap.role < roles && gap.context < contexts && (gap.after < contexts || gap.after == kNone);
  });
}

bool is_sound(const Machine& machine, std::size_t locations) {
  const auto exists = [=](std::uint32_t location) { return location < locations; };
  return std::ranges::adjacent_find(machine.threads, std::greater_equal<>(), &ScheduledThread::location) ==
             machine.threads.end() &&
         std::ranges::all_of(machine.threads,
                             [&](const ScheduledThread& thread) {
                               return exists(thread.location) && thread.processors.is_sound();
                             }) &&
         std::ranges::all_of(machine.suspects, [&](const MachineSuspect& suspect) {
           return !suspect.locations.empty() && std::ranges::all_of(suspect.locations, exists) &&
                  std::ranges::adjacent_find(suspect.locations, std::greater_equal<>()) ==
                      suspect.locations.end();
         });
}

}  // namespace culprit::database
