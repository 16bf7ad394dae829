// Attributes call paths of several processes together (docs/algorithms.md 15): addresses are gathered first,
// so that each module is opened once, and read without its loops. Paths end at the first function of MPI
// unless whole ones are asked for: who waits for whom does not depend on what lies inside.
#include "stuck/places.hpp"

#include "measurement/python_function.hpp"
#include "print/text.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <filesystem>

namespace culprit::stuck {
namespace {

constexpr std::uint32_t kNoModule = cct::kNoModule;

std::string base_of(const std::string& path) {
  return print::spelled(std::filesystem::path(path).filename().string());
}

/// MPI_Send, PMPI_Send, mpi_send_.
bool is_mpi(const std::string& name) {
  return name.starts_with("MPI_") || name.starts_with("PMPI_") || name.starts_with("mpi_") ||
         name.starts_with("pmpi_");
}

/// Deeper in than a first frame of these, everything is MPI's.
bool is_mpi_library(const std::string& path) {
  return base_of(path).starts_with("libmpi");
}

/// The procedure around a point, then the procedures inlined in it, outermost first.
std::vector<Frame> frames_at(const structure::ModuleStructure& structure, std::size_t point_index,
                             const std::string& module) {
  const structure::Point& point = structure.points[point_index];
  if (point.procedure == structure::kNone) return {};
  const auto file = [&](std::uint32_t id) {
    return id < structure.files.size() ? print::spelled(structure.files[id]) : std::string();
  };
  std::vector<const structure::Scope*> inlined;
  for (std::uint32_t at = point.scope; at != structure::kNone; at = structure.scopes[at].parent) {
    if (structure.scopes[at].kind == structure::Scope::Kind::inlined)
      inlined.push_back(&structure.scopes[at]);
  }
  std::ranges::reverse(inlined);
  std::vector<Frame> frames;
  const std::string name = print::spelled(structure.procedures[point.procedure].name);
  frames.push_back(
      {.name = name, .file = {}, .line = 0, .module = module, .inlined = false, .mpi = is_mpi(name)});
  for (const structure::Scope* const scope : inlined) {
    frames.back().file = file(scope->call_file);
    frames.back().line = scope->call_line;
    frames.push_back({.name = print::spelled(scope->name),
                      .file = {},
                      .line = 0,
                      .module = module,
                      .inlined = true,
                      .mpi = false});
  }
  frames.back().file = file(point.file);
  frames.back().line = point.line;
  return frames;
}

}  // namespace

std::uint32_t Places::module(const cct::ModuleKey& key) {
  const auto [entry, fresh] =
      module_ids_.try_emplace({key.path, key.build_id}, static_cast<std::uint32_t>(modules_.size()));
  if (fresh) modules_.push_back(key);
  return entry->second;
}

std::string Places::name_of(const std::string& path) const {
  const auto known = names_.find(path);
  return base_of(known == names_.end() ? path : known->second);
}

std::optional<Places::Address> Places::python_address(const cct::FrameKey& frame,
                                                      const std::vector<cct::ModuleKey>& modules) {
  if (frame.kind != cct::FrameKind::region || frame.offset == 0 || frame.module >= modules.size())
    return std::nullopt;
  const auto function = measurement::python_function(modules[frame.module].path);
  if (!function) return std::nullopt;
  const Address address{module(modules[frame.module]), frame.offset};
  frames_[address] = {{.name = print::spelled(std::string(function->name)),
                       .file = print::spelled(std::string(function->file)),
                       .line = static_cast<std::uint32_t>(frame.offset),
                       .module = "<python>",
                       .python = true}};
  return address;
}

Places::PathId Places::add(const std::vector<cct::FrameKey>& frames,
                           const std::vector<cct::ModuleKey>& modules) {
  std::vector<Address> path;
  for (const cct::FrameKey& frame : frames) {
    if (const auto function = python_address(frame, modules)) path.push_back(*function);
    const bool code = frame.kind == cct::FrameKind::call || frame.kind == cct::FrameKind::sample ||
                      frame.kind == cct::FrameKind::interrupted;
    if (!code) continue;
    const bool known = frame.module < modules.size();
    path.emplace_back(known ? module(modules[frame.module]) : kNoModule, frame.offset);
    if (depth_ == Depth::to_mpi && known && is_mpi_library(modules[frame.module].path)) break;
  }
  paths_.push_back(std::move(path));
  return paths_.size() - 1;
}

void Places::attribute() {
  std::map<std::uint32_t, std::vector<std::uint64_t>> wanted;
  for (const auto& path : paths_) {
    for (const auto& [module, offset] : path) {
      if (module != kNoModule && !frames_.contains({module, offset})) wanted[module].push_back(offset);
    }
  }
  for (auto& [module, addresses] : wanted) {
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    structure::Request request;
    request.path = modules_[module].path;
    request.build_id = modules_[module].build_id;
    request.addresses = addresses;
    request.loops = false;
    const structure::ModuleStructure structure = structure::recover(request);
    for (std::size_t i = 0; i < addresses.size() && i < structure.points.size(); ++i)
      frames_[{module, addresses[i]}] = frames_at(structure, i, name_of(modules_[module].path));
  }
}

std::vector<Frame> Places::path(PathId id) const {
  std::vector<Frame> path;
  for (const Address& address : paths_[id]) {
    const auto found = frames_.find(address);
    if (found == frames_.end() || found->second.empty()) {
      const std::string module = address.first == kNoModule ? "" : name_of(modules_[address.first].path);
      path.push_back({.name = "<unknown code>",
                      .file = {},
                      .line = 0,
                      .module = module,
                      .inlined = false,
                      .mpi = false});
      continue;
    }
    path.insert(path.end(), found->second.begin(), found->second.end());
    if (depth_ == Depth::to_mpi && std::ranges::any_of(found->second, &Frame::mpi)) break;
  }
  return path;
}

std::string Places::procedure_of(PathId id) const {
  const std::vector<Frame> frames = path(id);
  return frames.empty() ? "" : frames.front().name;
}

}  // namespace culprit::stuck
