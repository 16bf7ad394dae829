#include "database/contents.hpp"

#include "database/consistency.hpp"
#include "database/encoding.hpp"
#include "database/sections.hpp"
#include "print/text.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace culprit::database {
namespace {

using format::Section;

BlameSums load_sums(ByteSpan bytes, std::size_t at) {
  return {load<std::uint64_t>(bytes, at), load<std::uint64_t>(bytes, at + 8),
          load<std::uint64_t>(bytes, at + 16)};
}

BlameSums difference(const BlameSums& a, const BlameSums& b) {
  return {a.sum - b.sum, a.min - b.min, a.max - b.max};
}

void spell(std::string& text) {
  text = print::spelled(text);
}

void spell(std::vector<std::string>& texts) {
  for (std::string& text : texts) spell(text);
}

void spell(Run& run) {
  for (std::string* text : {&run.run_id, &run.mpi, &run.program, &run.directory, &run.balance}) spell(*text);
  for (std::vector<std::string>* texts : {&run.hosts, &run.events, &run.notes}) spell(*texts);
  for (auto& [number, name] : run.names) spell(name);
}

void spell(std::vector<ModuleInfo>& modules) {
  for (ModuleInfo& module : modules) {
    spell(module.path);
    spell(module.build_id);
    spell(module.notes);
  }
}

void spell(std::vector<Metric>& metrics) {
  for (Metric& metric : metrics)
    for (std::string* text : {&metric.name, &metric.unit, &metric.description}) spell(*text);
}

}  // namespace

/// What was handed out of names that are not their own spelling; there are hardly any.
struct Strings::Spelled {
  std::mutex lock;
  std::unordered_map<StringId, std::string> names;
};

Strings::Strings(CheckedBytes ends, CheckedBytes bytes)
    : ends_(std::move(ends)), bytes_(std::move(bytes)), spelled_(std::make_shared<Spelled>()) {}

std::string_view Strings::spelled(StringId id, std::string_view name) const {
  if (print::is_spelled(name)) return name;
  const std::lock_guard guard(spelled_->lock);
  const auto [found, added] = spelled_->names.try_emplace(id);
  if (added) found->second = print::spelled(name);
  return found->second;
}

std::string_view Strings::operator[](StringId id) const {
  if (id >= size()) ends_.fail("has no such string");
  const auto end = load<std::uint64_t>(ends_.at(id * format::kStringEndSize, format::kStringEndSize));
  const std::uint64_t begin =
      id == 0 ? 0 : load<std::uint64_t>(ends_.at((id - 1) * format::kStringEndSize, format::kStringEndSize));
  if (begin > end) ends_.fail("has strings that overlap");
  const ByteSpan bytes = bytes_.at(begin, end - begin);
  return spelled(id, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

LocationEntry Locations::operator[](std::size_t location) const {
  const ByteSpan bytes = bytes_.at(location * format::kLocationSize, format::kLocationSize);
  LocationEntry entry{.rank = load<std::int32_t>(bytes),
                      .thread = load<std::uint32_t>(bytes, 4),
                      .role = load<std::uint32_t>(bytes, 8),
                      .pid = load<std::uint64_t>(bytes, 16),
                      .host = {},
                      .start_ns = load<std::uint64_t>(bytes, 24),
                      .end_ns = load<std::uint64_t>(bytes, 32),
                      .cut_short = load<std::uint8_t>(bytes, 40) == format::kCutShort,
                      .left = load<std::uint8_t>(bytes, 40) == format::kLeft};
  const auto host = load<std::uint32_t>(bytes, 12);
  if (host >= hosts_->size()) bytes_.fail("names a host that does not exist");
  if (entry.role >= roles_) bytes_.fail("names a role that does not exist");
  entry.host = (*hosts_)[host];
  return entry;
}

/// The first row not before (role, scope); rows begin with these two numbers.
std::uint64_t BlameTable::lower_bound(const CheckedBytes& rows, std::uint64_t stride, std::uint32_t role,
                                      std::uint32_t scope) const {
  std::uint64_t first = 0;
  std::uint64_t count = rows.size() / stride;
  while (count > 0) {
    const std::uint64_t half = count / 2;
    const ByteSpan row = rows.at((first + half) * stride, 8);
    if (std::pair(load<std::uint32_t>(row), load<std::uint32_t>(row, 4)) < std::pair(role, scope)) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

/// Rows hold the sums over all rows of the role up to them.
BlameSums BlameTable::sums_before(std::uint64_t row, std::uint32_t role) const {
  if (row == 0) return {};
  const ByteSpan before = rows_.at((row - 1) * format::kBlameSize, format::kBlameSize);
  return load<std::uint32_t>(before) == role ? load_sums(before, 8) : BlameSums{};
}

BlameSums BlameTable::between(std::uint32_t role, ContextId first, ContextId end) const {
  return difference(sums_before(lower_bound(rows_, format::kBlameSize, role, end), role),
                    sums_before(lower_bound(rows_, format::kBlameSize, role, first), role));
}

BlameSums BlameTable::of_flat(std::uint32_t role, FlatId scope, bool inclusive) const {
  const std::uint64_t at =
      lower_bound(flat_rows_, format::kFlatBlameSize, role, scope) * format::kFlatBlameSize;
  if (at >= flat_rows_.size()) return {};
  const ByteSpan row = flat_rows_.at(at, format::kFlatBlameSize);
  if (load<std::uint32_t>(row) != role || load<std::uint32_t>(row, 4) != scope) return {};
  return load_sums(row, inclusive ? 8 : 32);
}

std::vector<std::vector<BlameRow>> BlameTable::read() const {
  std::vector<std::vector<BlameRow>> blame(roles_);
  std::uint32_t last = 0;
  BlameSums before;
  for (std::uint64_t at = 0; at < rows_.size(); at += format::kBlameSize) {
    const ByteSpan bytes = rows_.at(at, format::kBlameSize);
    const auto role = load<std::uint32_t>(bytes);
    const auto context = load<std::uint32_t>(bytes, 4);
    if (role < last || role >= roles_ || context >= contexts_)
      rows_.fail("has rows out of order, or of what is not there");
    if (role != last) before = {};
    last = role;
    std::vector<BlameRow>& rows = blame[role];
    if (!rows.empty() && rows.back().context >= context)
      rows_.fail("has rows out of order, or of what is not there");
    const BlameSums sums = load_sums(bytes, 8);
    const BlameSums own = difference(sums, before);
    rows.push_back({.context = context, .sum = own.sum, .min = own.min, .max = own.max});
    before = sums;
  }
  return blame;
}

/// Where the first `keys` lists end.
std::uint32_t ContextListTable::end(std::size_t keys) const {
  return keys == 0 ? 0 : load<std::uint32_t>(ends_.at((keys - 1) * stride_ + offset_, format::kNumberSize));
}

std::vector<ContextId> ContextListTable::between(std::size_t first, std::size_t last) const {
  const std::uint64_t begin = end(first);
  const std::uint64_t stop = end(last);
  if (begin > stop) ends_.fail("has lists that overlap");
  const ByteSpan bytes = contexts_.at(begin * format::kNumberSize, (stop - begin) * format::kNumberSize);
  std::vector<ContextId> contexts(stop - begin);
  if (!contexts.empty()) std::memcpy(contexts.data(), bytes.data(), bytes.size());
  for (const ContextId context : contexts) {
    if (context >= bound_) contexts_.fail("names a context that does not exist");
  }
  return contexts;
}

ProcedureTable::ProcedureTable(const CheckedBytes& procedures, CheckedBytes of_context,
                               CheckedBytes instances, const ScopeBounds& bounds, std::size_t contexts)
    : procedures_(procedures),
      of_context_(std::move(of_context)),
      instances_(procedures, format::kProcedureSize, 8, std::move(instances), contexts),
      flat_(bounds.flat),
      contexts_(contexts) {}

ProcedureTable::Entry ProcedureTable::operator[](std::size_t number) const {
  const ByteSpan bytes = procedures_.at(number * format::kProcedureSize, format::kProcedureSize);
  const Entry entry{.first = load<std::uint32_t>(bytes),
                    .flat = load<std::uint32_t>(bytes, 4),
                    .flags = load<std::uint8_t>(bytes, 12)};
  if (entry.first >= contexts_ || (entry.flat != kNone && entry.flat >= flat_)) {
    procedures_.fail("refers to something that does not exist");
  }
  return entry;
}

std::uint32_t ProcedureTable::of_context(ContextId context) const {
  const auto number = load<std::uint32_t>(of_context_.at(context * format::kNumberSize, format::kNumberSize));
  if (number != kNone && number >= size()) of_context_.fail("names a procedure that does not exist");
  return number;
}

/// What is read as a whole, and only when somebody asks.
struct Contents::Late {
  CheckedSections sections;
  std::filesystem::path path;
  std::size_t roles = 0, contexts = 0, locations = 0, strings = 0, metrics = 0;
  template <class Part>
  struct Once {
    std::once_flag read;
    Part part;
  };
  Once<std::vector<Suspect>> suspects;
  Once<std::vector<Wait>> waits;
  Once<std::vector<SourceFile>> sources;
  Once<TraceAnalyses> trace;
  Once<Machine> machine;
  Once<std::vector<VaryingGap>> varying_gaps;
  Once<Communication> communication;

  [[nodiscard]] const CheckedBytes& section(Section which) const { return sections[slot(which)]; }
  [[nodiscard]] bool is_location(std::uint32_t l) const { return l < locations; }

  [[nodiscard]] std::vector<Suspect> read_suspects() const {
    std::vector<Suspect> found = decode_suspects(section(Section::suspects).all());
    const auto is_context = [this](ContextId x) { return x < contexts; };
    for (const Suspect& suspect : found) {
      if (suspect.role >= roles || !is_context(suspect.balanced) || !is_context(suspect.suspect) ||
          !is_context(suspect.named) || !std::ranges::all_of(suspect.scopes, is_context) ||
          !std::ranges::is_sorted(suspect.scopes, std::ranges::less_equal()) ||
          !std::ranges::all_of(suspect.explained, is_context, &Explained::balanced) ||
          !std::ranges::all_of(suspect.locations, [this](std::uint32_t l) { return is_location(l); })) {
        section(Section::suspects).fail("refers to something that does not exist");
      }
    }
    return found;
  }

  [[nodiscard]] std::vector<Wait> read_waits() const {
    std::vector<Wait> found = decode_waits(section(Section::waits).all());
    decode_direct_waits(section(Section::direct_waits).all(), found);
    for (const Wait& wait : found) {
      if (!is_location(wait.location) || wait.context >= contexts ||
          (wait.cause_location != kNone && !is_location(wait.cause_location)) ||
          (wait.cause_context != kNone && wait.cause_context >= contexts)) {
        section(Section::waits).fail("refers to something that does not exist");
      }
    }
    return found;
  }

  [[nodiscard]] TraceAnalyses read_trace() const {
    SectionSpans spans;
    for (const Section each :
         {Section::trace_summary, Section::causes, Section::critical_path, Section::hotspots,
          Section::variation, Section::time_map, Section::segment_metrics})
      spans[slot(each)] = section(each).all();
    TraceAnalyses found = decode_trace_analyses(spans);
    if (!is_sound(found, locations, contexts, metrics))
      throw Malformed("results of time lines refer to something that does not exist");
    return found;
  }

  [[nodiscard]] Machine read_machine() const {
    Machine found = decode_machine(section(Section::schedules).all(), section(Section::machine).all());
    if (!is_sound(found, locations))
      throw Malformed("what is said of the machine refers to something that does not exist");
    return found;
  }

  [[nodiscard]] std::vector<VaryingGap> read_varying_gaps() const {
    std::vector<VaryingGap> found = decode_varying_gaps(section(Section::varying_gaps).all());
    if (!is_sound(found, roles, contexts))
      throw Malformed("gaps that vary refer to something that does not exist");
    return found;
  }

  [[nodiscard]] Communication read_communication() const {
    Communication found =
        decode_communication(section(Section::call_traffic).all(), section(Section::partner_traffic).all());
    if (!is_sound(found, locations, contexts))
      throw Malformed("what MPI calls moved refers to something that does not exist");
    return found;
  }

  [[nodiscard]] std::vector<SourceFile> read_sources() const {
    std::vector<SourceFile> found =
        decode_sources(section(Section::source_index).all(), section(Section::source_data).all());
    const bool ascending =
        std::ranges::adjacent_find(found, std::greater_equal<>(), &SourceFile::path) == found.end();
    if (!ascending || (!found.empty() && found.back().path >= strings)) {
      section(Section::source_index).fail("is out of order, or names paths that do not exist");
    }
    return found;
  }

  template <class Part>
  const Part& get(Once<Part>& once, Part (Late::*read)() const) {
    std::call_once(once.read, [&] {
      try {
        once.part = (this->*read)();
      } catch (const Malformed& error) {
        throw DatabaseError(path, std::string(error.what()) + " (merge again)");
      }
    });
    return once.part;
  }
};

Contents::Contents(const CheckedSections& sections, const std::filesystem::path& path)
    : late_(std::make_shared<Late>()) {
  const auto section = [&](Section which) -> const CheckedBytes& { return sections[slot(which)]; };
  try {
    Meta meta = decode_meta(section(Section::meta).all());
    run = std::move(meta.run);
    quality = meta.quality;
    metrics = std::move(meta.metrics);
    roles = std::move(meta.roles);
    modules = decode_modules(section(Section::modules).all());
    spell(run);
    spell(meta.hosts);
    spell(metrics);
    for (Role& role : roles) spell(role.name);
    spell(modules);
    strings = Strings(section(Section::string_ends), section(Section::string_bytes));
    const ScopeBounds bounds{.strings = strings.size(),
                             .flat = section(Section::flat).size() / format::kFlatSize};
    contexts = ScopeTree<Context>(section(Section::contexts), bounds);
    flat = ScopeTree<FlatScope>(section(Section::flat), bounds);
    flat_instances = ContextListTable(section(Section::flat_instance_ends), format::kNumberSize, 0,
                                      section(Section::flat_instances), contexts.size());
    procedures = ProcedureTable(section(Section::procedures), section(Section::procedure_of_context),
                                section(Section::procedure_instances), bounds, contexts.size());
    locations =
        Locations(section(Section::locations),
                  std::make_shared<const std::vector<std::string>>(std::move(meta.hosts)), roles.size());
    context_summaries = SummaryTables(section(Section::context_summary_index),
                                      section(Section::context_summary_data), roles.size(), metrics.size());
    flat_summaries = SummaryTables(section(Section::flat_summary_index), section(Section::flat_summary_data),
                                   roles.size(), metrics.size());
    blame = BlameTable(section(Section::blame), section(Section::flat_blame), roles.size(), contexts.size());
  } catch (const Malformed& error) {
    throw DatabaseError(path, std::string(error.what()) + " (merge again)");
  }
  late_->sections = sections;
  late_->path = path;
  late_->roles = roles.size();
  late_->contexts = contexts.size();
  late_->locations = locations.size();
  late_->strings = strings.size();
  late_->metrics = metrics.size();
  const bool whole = !contexts.empty() && !flat.empty() && strings.size() > 0 &&
                     section(Section::balance).size() == roles.size() * contexts.size() &&
                     section(Section::procedure_of_context).size() == contexts.size() * format::kNumberSize &&
                     flat_instances.size() == flat.size();
  if (!whole) throw DatabaseError(path, "its sections contradict each other (merge again)");
}

Balance Contents::balance(std::uint32_t role, ContextId context) const {
  const CheckedBytes& section = late_->section(Section::balance);
  if (role >= roles.size() || context >= contexts.size())
    section.fail("refers to something that does not exist");
  const auto balance = load<Balance>(section.at(role * contexts.size() + context, 1));
  if (balance > Balance::undecided) section.fail("holds a balance of unknown kind");
  return balance;
}

const std::vector<Suspect>& Contents::suspects() const {
  return late_->get(late_->suspects, &Late::read_suspects);
}

const std::vector<Wait>& Contents::waits() const {
  return late_->get(late_->waits, &Late::read_waits);
}

const TraceAnalyses& Contents::trace() const {
  return late_->get(late_->trace, &Late::read_trace);
}

const Machine& Contents::machine() const {
  return late_->get(late_->machine, &Late::read_machine);
}

const std::vector<VaryingGap>& Contents::varying_gaps() const {
  return late_->get(late_->varying_gaps, &Late::read_varying_gaps);
}

const Communication& Contents::communication() const {
  return late_->get(late_->communication, &Late::read_communication);
}

const std::vector<SourceFile>& Contents::sources() const {
  return late_->get(late_->sources, &Late::read_sources);
}

}  // namespace culprit::database
