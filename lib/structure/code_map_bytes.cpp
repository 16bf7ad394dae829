// A code map as bytes, for the structure cache.
#include "bytes/reader.hpp"
#include "bytes/writer.hpp"
#include "structure/code_map.hpp"

#include <algorithm>
#include <unordered_map>

namespace culprit::structure {
namespace {

class Writer : public bytes::Writer {
 public:
  /// An index or kNone.
  void put_index(std::uint32_t value) { put_varint(value == kNone ? 0 : std::uint64_t{value} + 1); }
  void put_strings(const std::vector<std::string>& all) {
    put_varint(all.size());
    for (const std::string& one : all) put_string(one);
  }
};

/// Names, each once: those of C++ are long, and many scopes share them.
class Names {
 public:
  std::uint64_t number(const std::string& name) {
    const auto [known, added] = numbers_.try_emplace(name, all_.size());
    if (added) all_.push_back(name);
    return known->second;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
  std::vector<std::string> all_;
};

/// Everything it gives is within the limits asked for, once `good()` is still true after it.
class CodeMapReader : public bytes::Reader<> {
 public:
  using bytes::Reader<>::Reader;

  std::uint32_t small() { return static_cast<std::uint32_t>(below(kNone)); }
  /// Of `count` items, or kNone.
  std::uint32_t index(std::size_t count) {
    const std::uint64_t value = below(std::uint64_t{count} + 1);
    return value == 0 ? kNone : static_cast<std::uint32_t>(value - 1);
  }
  /// How many items follow, each of at least one byte.
  std::size_t count() {
    const std::uint64_t value = below(kNone);
    return has(value) ? value : 0;
  }
  std::string one_of(const std::vector<std::string>& names) {
    const std::uint64_t which = below(names.size());
    return good() ? names[which] : std::string();
  }
  std::vector<std::string> strings() {
    std::vector<std::string> all(count());
    for (std::string& one : all) one = get_string();
    return all;
  }

 private:
  /// A number; 0 where it is not below `end`.
  std::uint64_t below(std::uint64_t end) {
    const std::uint64_t value = get_varint();
    if (value < end) return value;
    fail(bytes::Failure::out_of_range);
    return 0;
  }
};

void write(const Procedure& procedure, Names& names, Writer& to) {
  to.put_varint(names.number(procedure.name));
  to.put_varint(names.number(procedure.linkage));
  to.put_varint(procedure.low);
  to.put_varint(procedure.high - procedure.low);
  to.put_index(procedure.file);
  to.put_varint(procedure.line);
  to.put_varint(static_cast<std::uint64_t>(procedure.source));
}

Procedure read_procedure(CodeMapReader& from, const std::vector<std::string>& names,
                         const ModuleStructure& so_far) {
  Procedure procedure;
  procedure.name = from.one_of(names);
  procedure.linkage = from.one_of(names);
  procedure.low = from.get_varint();
  procedure.high = procedure.low + from.get_varint();
  procedure.file = from.index(so_far.files.size());
  procedure.line = from.small();
  procedure.source =
      static_cast<NameSource>(std::min(from.small(), static_cast<std::uint32_t>(NameSource::none)));
  return procedure;
}

void write(const Scope& scope, Names& names, Writer& to) {
  to.put_varint(static_cast<std::uint64_t>(scope.kind));
  to.put_index(scope.parent);
  to.put_varint(names.number(scope.name));
  to.put_index(scope.file);
  to.put_varint(scope.line);
  to.put_index(scope.call_file);
  to.put_varint(scope.call_line);
  to.put_varint(scope.address);
}

/// Its parent is among those that stand before it.
Scope read_scope(CodeMapReader& from, const std::vector<std::string>& names, const ModuleStructure& so_far) {
  Scope scope;
  scope.kind = from.small() == 0 ? Scope::Kind::inlined : Scope::Kind::loop;
  scope.parent = from.index(so_far.scopes.size());
  scope.name = from.one_of(names);
  scope.file = from.index(so_far.files.size());
  scope.line = from.small();
  scope.call_file = from.index(so_far.files.size());
  scope.call_line = from.small();
  scope.address = from.get_varint();
  return scope;
}

Point read_point(CodeMapReader& from, const ModuleStructure& so_far) {
  Point point;
  point.procedure = from.index(so_far.procedures.size());
  point.scope = from.index(so_far.scopes.size());
  point.file = from.index(so_far.files.size());
  point.line = from.small();
  point.callee = from.index(so_far.callees.size());
  return point;
}

/// False where they overlap or leave the address space.
bool read_pieces(CodeMapReader& from, ModuleStructure& said, std::vector<Range>& pieces) {
  std::uint64_t end = 0;
  for (std::size_t left = from.count(); left > 0 && from.good(); --left) {
    const std::uint64_t low = end + from.get_varint(), size = from.get_varint();
    if (low < end || size == 0 || low + size < low) return false;
    pieces.push_back({low, end = low + size});
    said.points.push_back(read_point(from, said));
    if (said.points.back().procedure == kNone) return false;
  }
  return from.good();
}

}  // namespace

std::vector<std::byte> encode(const CodeMap& map) {
  const ModuleStructure& said = map.said();
  Names names;
  Writer code;
  code.put_varint(said.procedures.size());
  for (const Procedure& procedure : said.procedures) write(procedure, names, code);
  code.put_varint(said.scopes.size());
  for (const Scope& scope : said.scopes) write(scope, names, code);
  Writer to;
  to.put_strings(said.files);
  to.put_strings(said.callees);
  to.put_strings(said.notes);
  to.put_strings(names.all());
  to.append(code.bytes());
  to.put_varint(map.pieces().size());
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < map.pieces().size(); ++i) {
    const Range& piece = map.pieces()[i];
    const Point& point = said.points[i];
    to.put_varint(piece.low - end);
    to.put_varint(piece.high - piece.low);
    to.put_index(point.procedure);
    to.put_index(point.scope);
    to.put_index(point.file);
    to.put_varint(point.line);
    to.put_index(point.callee);
    end = piece.high;
  }
  return to.take();
}

std::optional<CodeMap> decode_code_map(std::span<const std::byte> bytes) {
  CodeMapReader from(bytes);
  ModuleStructure said;
  std::vector<Range> pieces;
  said.files = from.strings();
  said.callees = from.strings();
  said.notes = from.strings();
  const std::vector<std::string> names = from.strings();
  for (std::size_t left = from.count(); left > 0 && from.good(); --left)
    said.procedures.push_back(read_procedure(from, names, said));
  for (std::size_t left = from.count(); left > 0 && from.good(); --left)
    said.scopes.push_back(read_scope(from, names, said));
  if (!read_pieces(from, said, pieces) || !from.at_end()) return std::nullopt;
  if (!std::ranges::is_sorted(said.files)) return std::nullopt;
  const auto nameless = [](const Procedure& procedure) { return procedure.name.empty(); };
  if (std::any_of(said.procedures.begin(), said.procedures.end(), nameless)) return std::nullopt;
  return CodeMap(std::move(pieces), std::move(said));
}

}  // namespace culprit::structure
