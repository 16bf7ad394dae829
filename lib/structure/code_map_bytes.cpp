// A code map as bytes, for the structure cache.
#include "structure/code_map.hpp"
#include "structure/encoded_bytes.hpp"

#include <algorithm>
#include <unordered_map>

namespace culprit::structure {
namespace {

class Writer {
 public:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_.push_back(static_cast<char>(value | 0x80U));
    bytes_.push_back(static_cast<char>(value));
  }
  /// An index or kNone.
  void index(std::uint32_t value) { number(value == kNone ? 0 : std::uint64_t{value} + 1); }
  void text(const std::string& text) {
    number(text.size());
    bytes_ += text;
  }
  void append(const std::string& bytes) { bytes_ += bytes; }
  void texts(const std::vector<std::string>& all) {
    number(all.size());
    for (const std::string& one : all) text(one);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
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
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : from_(bytes, 0), bytes_(bytes) {}

  [[nodiscard]] bool good() const { return good_ && from_.good(); }
  [[nodiscard]] bool at_end() const { return from_.at_end(); }
  std::uint64_t number() { return from_.uleb(); }
  std::uint32_t small() {
    const std::uint64_t value = number();
    if (value >= kNone) good_ = false;
    return static_cast<std::uint32_t>(value);
  }
  /// Of `count` items, or kNone.
  std::uint32_t index(std::size_t count) {
    const std::uint64_t value = number();
    if (value > count) good_ = false;
    return !good() || value == 0 ? kNone : static_cast<std::uint32_t>(value - 1);
  }
  /// How many items follow, each of at least one byte.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size() - from_.position() || value >= kNone) good_ = false;
    return good() ? value : 0;
  }
  std::string text() {
    const std::size_t size = count();
    const std::size_t at = from_.position();
    if (size > 0) from_.skip(size);
    return good() ? std::string(reinterpret_cast<const char*>(bytes_.data()) + at, size) : std::string();
  }
  std::string one_of(const std::vector<std::string>& names) {
    const std::uint64_t which = number();
    if (which >= names.size()) good_ = false;
    return good() ? names[which] : std::string();
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all(count());
    for (std::string& one : all) one = text();
    return all;
  }

 private:
  EncodedBytes from_;
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

void write(const Procedure& procedure, Names& names, Writer& to) {
  to.number(names.number(procedure.name));
  to.number(names.number(procedure.linkage));
  to.number(procedure.low);
  to.number(procedure.high - procedure.low);
  to.index(procedure.file);
  to.number(procedure.line);
  to.number(static_cast<std::uint64_t>(procedure.source));
}

Procedure read_procedure(Reader& from, const std::vector<std::string>& names, const ModuleStructure& so_far) {
  Procedure procedure;
  procedure.name = from.one_of(names);
  procedure.linkage = from.one_of(names);
  procedure.low = from.number();
  procedure.high = procedure.low + from.number();
  procedure.file = from.index(so_far.files.size());
  procedure.line = from.small();
  procedure.source =
      static_cast<NameSource>(std::min(from.small(), static_cast<std::uint32_t>(NameSource::none)));
  return procedure;
}

void write(const Scope& scope, Names& names, Writer& to) {
  to.number(static_cast<std::uint64_t>(scope.kind));
  to.index(scope.parent);
  to.number(names.number(scope.name));
  to.index(scope.file);
  to.number(scope.line);
  to.index(scope.call_file);
  to.number(scope.call_line);
  to.number(scope.address);
}

/// Its parent is among those that stand before it.
Scope read_scope(Reader& from, const std::vector<std::string>& names, const ModuleStructure& so_far) {
  Scope scope;
  scope.kind = from.small() == 0 ? Scope::Kind::inlined : Scope::Kind::loop;
  scope.parent = from.index(so_far.scopes.size());
  scope.name = from.one_of(names);
  scope.file = from.index(so_far.files.size());
  scope.line = from.small();
  scope.call_file = from.index(so_far.files.size());
  scope.call_line = from.small();
  scope.address = from.number();
  return scope;
}

Point read_point(Reader& from, const ModuleStructure& so_far) {
  Point point;
  point.procedure = from.index(so_far.procedures.size());
  point.scope = from.index(so_far.scopes.size());
  point.file = from.index(so_far.files.size());
  point.line = from.small();
  point.callee = from.index(so_far.callees.size());
  return point;
}

/// False where they overlap or leave the address space.
bool read_pieces(Reader& from, ModuleStructure& said, std::vector<Range>& pieces) {
  std::uint64_t end = 0;
  for (std::size_t left = from.count(); left > 0 && from.good(); --left) {
    const std::uint64_t low = end + from.number(), size = from.number();
    if (low < end || size == 0 || low + size < low) return false;
    pieces.push_back({low, end = low + size});
    said.points.push_back(read_point(from, said));
    if (said.points.back().procedure == kNone) return false;
  }
  return from.good();
}

}  // namespace

std::string encode(const CodeMap& map) {
  const ModuleStructure& said = map.said();
  Names names;
  Writer code;
  code.number(said.procedures.size());
  for (const Procedure& procedure : said.procedures) write(procedure, names, code);
  code.number(said.scopes.size());
  for (const Scope& scope : said.scopes) write(scope, names, code);
  Writer to;
  to.texts(said.files);
  to.texts(said.callees);
  to.texts(said.notes);
  to.texts(names.all());
  to.append(code.take());
  to.number(map.pieces().size());
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < map.pieces().size(); ++i) {
    const Range& piece = map.pieces()[i];
    const Point& point = said.points[i];
    to.number(piece.low - end);
    to.number(piece.high - piece.low);
    to.index(point.procedure);
    to.index(point.scope);
    to.index(point.file);
    to.number(point.line);
    to.index(point.callee);
    end = piece.high;
  }
  return to.take();
}

std::optional<CodeMap> decode_code_map(std::span<const std::byte> bytes) {
  Reader from(bytes);
  ModuleStructure said;
  std::vector<Range> pieces;
  said.files = from.texts();
  said.callees = from.texts();
  said.notes = from.texts();
  const std::vector<std::string> names = from.texts();
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
