// The definitions of an OTF2 archive. Call paths are regions that are entered and left, not calling contexts
// with samples: every reader of OTF2 understands regions, and MPI events lie within them, while calling
// contexts ask of each reader to unwind for itself. Where an MPI call is made is a source code location.
#include "export/otf2_definitions.hpp"

#include "metrics/wait_pattern.hpp"
#include "print/text.hpp"
#include "text/frame_json.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace culprit::viewer::otf2 {

using database::ContextId;
using database::ContextKind;
using measurement::trace::DefinitionKind;
using measurement::trace::OperationKind;

namespace {

/// Numbers of groups that are always there, where there are ranks; others follow.
constexpr OTF2_GroupRef kRanks = 0, kWaits = 1, kFirstGroup = 2;

OTF2_RegionRole role_of(ContextKind kind) {
  return kind == ContextKind::loop     ? OTF2_REGION_ROLE_LOOP
         : kind == ContextKind::region ? OTF2_REGION_ROLE_CODE
                                       : OTF2_REGION_ROLE_FUNCTION;
}

OTF2_RegionRole role_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::send:
    case OperationKind::send_synchronous:
    case OperationKind::send_buffered:
    case OperationKind::receive:
    case OperationKind::receive_matched:
    case OperationKind::probe:
      return OTF2_REGION_ROLE_POINT2POINT;
    case OperationKind::barrier:
      return OTF2_REGION_ROLE_BARRIER;
    case OperationKind::one_to_all:
      return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case OperationKind::all_to_one:
      return OTF2_REGION_ROLE_COLL_ALL2ONE;
    case OperationKind::all_to_all:
      return OTF2_REGION_ROLE_COLL_ALL2ALL;
    case OperationKind::prefix:
    case OperationKind::neighbors:
    case OperationKind::create:
    case OperationKind::free:
      return OTF2_REGION_ROLE_COLL_OTHER;
    case OperationKind::file_access:
      return OTF2_REGION_ROLE_FILE_IO;
    case OperationKind::none:
    case OperationKind::initialize:
    case OperationKind::finalize:
    case OperationKind::iteration:
      return OTF2_REGION_ROLE_FUNCTION;
    default:
      return OTF2_REGION_ROLE_RMA;
  }
}

bool is_one_sided(const merge::MessageGroup& group) {
  return group.kind == DefinitionKind::window;
}

/// Of an intercommunicator both groups: OTF2's Python bindings do not read its own definition of these.
std::vector<std::int32_t> members_of(const merge::MessageGroup& group) {
  std::vector<std::int32_t> members = group.members;
  members.insert(members.end(), group.remote.begin(), group.remote.end());
  return members;
}

}  // namespace

void check(OTF2_ErrorCode code) {
  if (code == OTF2_SUCCESS) return;
  throw Failure(OTF2_Error_GetDescription(code));
}

Definitions::Definitions(const RunLines& lines)
    : lines_(lines),
      scopes_(lines.experiment().contexts.size(), OTF2_UNDEFINED_REGION),
      calls_(lines.experiment().contexts.size(), OTF2_UNDEFINED_REGION) {
  text("");
  find_comms();
}

OTF2_StringRef Definitions::text(std::string_view value) {
  const auto found = texts_.find(value);
  if (found != texts_.end()) return found->second;
  const auto next = static_cast<OTF2_StringRef>(texts_.size());
  const auto added = texts_.emplace(std::string(value), next).first;
  texts_in_order_.push_back(&added->first);
  // Before what refers to it.
  if (writer_ != nullptr) check(OTF2_GlobalDefWriter_WriteString(writer_, next, added->first.c_str()));
  return next;
}

OTF2_RegionRef Definitions::region(Region region) {
  const auto next = static_cast<OTF2_RegionRef>(regions_.size());
  const auto [found, added] =
      region_of_.try_emplace({region.name, region.file, region.line, int{region.paradigm}}, next);
  if (added) regions_.push_back(std::move(region));
  return found->second;
}

OTF2_RegionRef Definitions::scope(ContextId frame) {
  OTF2_RegionRef& known = scopes_[frame];
  if (known != OTF2_UNDEFINED_REGION) return known;
  const views::Frame shown = views::frame_of(lines_.experiment(), lines_.experiment().contexts[frame]);
  return known =
             region({.name = lines_.name_of(frame),
                     .file = std::string(shown.file),
                     .line = shown.line,
                     .role = role_of(shown.kind),
                     .paradigm = static_cast<OTF2_Paradigm>(
                         shown.kind == ContextKind::region ? OTF2_PARADIGM_USER : OTF2_PARADIGM_COMPILER)});
}

OTF2_RegionRef Definitions::call(ContextId context) {
  OTF2_RegionRef& known = calls_[context];
  if (known != OTF2_UNDEFINED_REGION) return known;
  return known = region({.name = lines_.name_of(context),
                         .file = {},
                         .line = 0,
                         .role = OTF2_REGION_ROLE_FUNCTION,
                         .paradigm = OTF2_PARADIGM_MPI});
}

void Definitions::take_role(OTF2_RegionRef call, OperationKind kind) {
  OTF2_RegionRole& role = regions_[call].role;
  if (role == OTF2_REGION_ROLE_FUNCTION) role = role_of(kind);
}

OTF2_RegionRef Definitions::wait(database::WaitPattern pattern) {
  const auto found = waits_.find(pattern);
  if (found != waits_.end()) return found->second;
  const OTF2_RegionRef made = region({.name = std::string(metrics::name_of(pattern)),
                                      .file = {},
                                      .line = 0,
                                      .role = OTF2_REGION_ROLE_ARTIFICIAL,
                                      .paradigm = OTF2_PARADIGM_UNKNOWN});
  waits_.emplace(pattern, made);
  return made;
}

std::optional<OTF2_SourceCodeLocationRef> Definitions::call_site(ContextId call) {
  const auto known = call_sites_.find(call);
  if (known != call_sites_.end()) return known->second;
  std::optional<OTF2_SourceCodeLocationRef> place;
  const views::Frame site = lines_.call_site(call);
  if (!site.file.empty()) {
    const auto next = static_cast<OTF2_SourceCodeLocationRef>(places_.size());
    const auto [found, added] = places_.try_emplace({std::string(site.file), site.line}, next);
    if (added) places_in_order_.push_back(&found->first);
    place = found->second;
  }
  call_sites_.emplace(call, place);
  return place;
}

// ---- communicators and windows

OTF2_GroupRef Definitions::ranks(const std::vector<std::int32_t>& members) {
  const auto next = static_cast<OTF2_GroupRef>(kFirstGroup + groups_.size());
  const auto [found, added] = groups_.try_emplace(members, next);
  if (added) groups_in_order_.push_back(&found->first);
  return found->second;
}

const Definitions::Comm* Definitions::comm(std::optional<std::size_t> group) const {
  return group && comms_[*group].ref != OTF2_UNDEFINED_COMM ? &comms_[*group] : nullptr;
}

/// Those whose members are all known; a window has the number of its communicator, and one of its own.
void Definitions::find_comms() {
  const std::vector<merge::MessageGroup>& groups = lines_.replay().groups();
  // A damaged file may name any rank: each would become a location.
  const std::int64_t world = lines_.experiment().run.world_size;
  const auto all_known = [&](const std::vector<std::int32_t>& members) {
    return !members.empty() &&
           std::ranges::all_of(members, [&](std::int32_t rank) { return rank >= 0 && rank < world; });
  };
  comms_.resize(groups.size());
  OTF2_CommRef next = 0;
  OTF2_RmaWinRef next_window = 0;
  std::set<std::int32_t> known;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const merge::MessageGroup& group = groups[i];
    const bool inter = group.kind == DefinitionKind::intercommunicator;
    if (!all_known(group.members) || (inter && !all_known(group.remote))) continue;
    Comm& comm = comms_[i];
    comm.ref = next++;
    if (is_one_sided(group)) comm.window = next_window++;
    const std::vector<std::int32_t> members = members_of(group);
    comm.members = static_cast<std::uint32_t>(members.size());
    if (inter) comm.first = group.members;
    std::ranges::sort(comm.first);
    ranks(members);
    known.insert(group.members.begin(), group.members.end());
    known.insert(group.remote.begin(), group.remote.end());
  }
  const std::vector<merge::ReplayedLine>& lines = lines_.replay().lines();
  for (const merge::ReplayedLine& line : lines) {
    if (line.rank >= 0) known.insert(line.rank);
  }
  if (known.empty()) return;
  // Groups refer to ranks by their places among all.
  location_of_rank_.assign(static_cast<std::size_t>(*known.rbegin()) + 1, OTF2_UNDEFINED_LOCATION);
  for (std::size_t line = lines.size(); line-- > 0;) {
    if (lines[line].rank >= 0) location_of_rank_[static_cast<std::size_t>(lines[line].rank)] = line;
  }
  for (std::size_t rank = 0; rank < location_of_rank_.size(); ++rank) {
    if (location_of_rank_[rank] != OTF2_UNDEFINED_LOCATION) continue;
    location_of_rank_[rank] = lines.size() + absent_.size();
    absent_.push_back(static_cast<std::int32_t>(rank));
  }
}

// ---- writing

void Definitions::write(OTF2_GlobalDefWriter* writer, const std::vector<std::uint64_t>& events,
                        std::uint64_t begin_ns, std::uint64_t end_ns) {
  constexpr std::uint64_t kNanoseconds = 1'000'000'000;
  writer_ = writer;
  for (OTF2_StringRef number = 0; number < texts_in_order_.size(); ++number)
    check(OTF2_GlobalDefWriter_WriteString(writer_, number, texts_in_order_[number]->c_str()));
  check(OTF2_GlobalDefWriter_WriteClockProperties(writer_, kNanoseconds, begin_ns, end_ns - begin_ns,
                                                  static_cast<std::uint64_t>(lines_.realtime_ns(begin_ns))));
  const OTF2_StringRef mpi = text("MPI");
  check(OTF2_GlobalDefWriter_WriteParadigm(writer_, OTF2_PARADIGM_MPI, mpi, OTF2_PARADIGM_CLASS_PROCESS));
  const auto attribute = [&](OTF2_AttributeRef number, std::string_view name, std::string_view meaning,
                             OTF2_Type type) {
    const OTF2_StringRef named = text(name), described = text(meaning);
    check(OTF2_GlobalDefWriter_WriteAttribute(writer_, number, named, described, type));
  };
  attribute(kCallSite, "call site", "Where in the source the call is made", OTF2_TYPE_SOURCE_CODE_LOCATION);
  attribute(kWaitsFor, "waits for", "Whose call ended the wait", OTF2_TYPE_LOCATION);
  attribute(kContinued, "continued", "A further part of a wait that the calls within it divide",
            OTF2_TYPE_UINT8);
  write_regions();
  write_system();
  write_locations(events);
  write_groups();
  write_comms();
}

void Definitions::write_regions() {
  for (OTF2_SourceCodeLocationRef number = 0; number < places_in_order_.size(); ++number) {
    const auto& [file, line] = *places_in_order_[number];
    check(OTF2_GlobalDefWriter_WriteSourceCodeLocation(writer_, number, text(file), line));
  }
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    const OTF2_StringRef name = text(region.name);
    const OTF2_StringRef file = region.file.empty() ? OTF2_UNDEFINED_STRING : text(region.file);
    check(OTF2_GlobalDefWriter_WriteRegion(writer_, static_cast<OTF2_RegionRef>(i), name, name, text(""),
                                           region.role, region.paradigm, OTF2_REGION_FLAG_NONE, file,
                                           region.line, OTF2_UNDEFINED_UINT32));
  }
}

/// The run, and its hosts.
void Definitions::write_system() {
  const database::Run& run = lines_.experiment().run;
  check(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, 0, text(print::spelled(run.program)),
                                                 text("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  for (std::size_t i = 0; i < run.hosts.size(); ++i) {
    const auto node = static_cast<OTF2_SystemTreeNodeRef>(i + 1);
    check(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, node, text(run.hosts[i]), text("node"), 0));
    check(
        OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer_, node, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
  }
}

/// Processes, and their threads.
void Definitions::write_locations(const std::vector<std::uint64_t>& events) {
  const database::Contents& experiment = lines_.experiment();
  const std::vector<std::string>& hosts = experiment.run.hosts;
  OTF2_LocationGroupRef group = OTF2_UNDEFINED_LOCATION_GROUP, next = 0;
  std::tuple<std::int32_t, std::uint64_t, std::string_view> before{-2, 0, ""};
  std::string process_name;
  const std::vector<merge::ReplayedLine>& lines = lines_.replay().lines();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const database::LocationEntry location = experiment.locations[lines[i].location];
    const std::tuple process{location.rank, location.pid, location.host};
    if (i == 0 || process != before) {
      before = process;
      group = next++;
      const auto host = std::ranges::find(hosts, location.host) - hosts.begin();
      const bool known = static_cast<std::size_t>(host) < hosts.size();
      // What a rank forked is another process of that rank.
      process_name = location.rank < 0    ? print::spelled(process_of(location))
                     : lines[i].rank >= 0 ? "rank " + std::to_string(location.rank)
                                          : "rank " + std::to_string(location.rank) +
                                                " (forked: " + print::spelled(process_of(location)) + ')';
      check(OTF2_GlobalDefWriter_WriteLocationGroup(
          writer_, group, text(process_name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
          known ? static_cast<OTF2_SystemTreeNodeRef>(host + 1) : 0, OTF2_UNDEFINED_LOCATION_GROUP));
    }
    const std::string name =
        location.thread == 0 ? process_name : process_name + " thread " + std::to_string(location.thread);
    check(OTF2_GlobalDefWriter_WriteLocation(writer_, i, text(name), OTF2_LOCATION_TYPE_CPU_THREAD, events[i],
                                             group));
  }
  for (std::size_t i = 0; i < absent_.size(); ++i) {
    const OTF2_StringRef name = text("rank " + std::to_string(absent_[i]) + " (no time line)");
    check(OTF2_GlobalDefWriter_WriteLocationGroup(writer_, next, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                  OTF2_UNDEFINED_LOCATION_GROUP));
    check(OTF2_GlobalDefWriter_WriteLocation(writer_, lines.size() + i, name, OTF2_LOCATION_TYPE_CPU_THREAD,
                                             0, next++));
  }
}

void Definitions::write_groups() {
  if (!location_of_rank_.empty())
    check(OTF2_GlobalDefWriter_WriteGroup(
        writer_, kRanks, text("MPI_COMM_WORLD"), OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
        OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(location_of_rank_.size()),
        location_of_rank_.data()));
  if (!waits_.empty()) {
    std::vector<std::uint64_t> members;
    for (const auto& [pattern, number] : waits_) members.push_back(number);
    check(OTF2_GlobalDefWriter_WriteGroup(writer_, kWaits, text("waiting"), OTF2_GROUP_TYPE_REGIONS,
                                          OTF2_PARADIGM_UNKNOWN, OTF2_GROUP_FLAG_NONE,
                                          static_cast<std::uint32_t>(members.size()), members.data()));
  }
  for (std::size_t i = 0; i < groups_in_order_.size(); ++i) {
    const std::vector<std::uint64_t> members(groups_in_order_[i]->begin(), groups_in_order_[i]->end());
    check(OTF2_GlobalDefWriter_WriteGroup(writer_, static_cast<OTF2_GroupRef>(kFirstGroup + i), text(""),
                                          OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                          static_cast<std::uint32_t>(members.size()), members.data()));
  }
}

void Definitions::write_comms() {
  const std::vector<merge::MessageGroup>& groups = lines_.replay().groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Comm& comm = comms_[i];
    if (comm.ref == OTF2_UNDEFINED_COMM) continue;
    const merge::MessageGroup& group = groups[i];
    std::string name = "MPI_COMM_WORLD";
    if (group.global_id != 1)
      name = (is_one_sided(group) ? "window " : "communicator ") + std::to_string(i) + " of " +
             std::to_string(comm.members);
    check(OTF2_GlobalDefWriter_WriteComm(writer_, comm.ref, text(name), ranks(members_of(group)),
                                         OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    if (comm.window != OTF2_UNDEFINED_RMA_WIN)
      check(OTF2_GlobalDefWriter_WriteRmaWin(writer_, comm.window, text(name), comm.ref,
                                             OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS));
  }
}

}  // namespace culprit::viewer::otf2
