// Tables of accumulators (docs/formats.md, "Summary tables"): a column for each number, as many bytes wide as
// its largest value; a scope's exclusive row only where it differs from nothing and from the inclusive one. A
// scope is searched backwards from the place where it would be if no scope before it were left out, in steps
// that double, then by halves: most are near there.
#include "database/summary_table.hpp"

#include "database/encoding.hpp"
#include "database/format.hpp"

#include <algorithm>
#include <array>

namespace culprit::database {
namespace {

using metrics::Accumulator;
using metrics::Uint128;

enum class Form : std::uint8_t {
  none = 0,       ///< nobody observed an exclusive value
  inclusive = 1,  ///< the exclusive summary equals the inclusive one (leaves)
  own = 2,        ///< it has a row of its own
};

constexpr std::size_t kColumns = SummaryTables::kColumns;
using Row = std::array<Uint128, kColumns>;
using Widths = SummaryTables::Widths;
/// The widest each column may be: observers, sum, sum of squares, min, max.
constexpr Widths kWidest = {8, 16, 16, 8, 8};

Row row_of(const Accumulator& a) {
  return {a.observers, a.sum, a.sum_of_squares, a.min, a.max};
}

Accumulator accumulator_of(const Row& row) {
  return {static_cast<std::uint64_t>(row[0]), row[1], row[2], static_cast<std::uint64_t>(row[3]),
          static_cast<std::uint64_t>(row[4])};
}

std::uint8_t width_of(Uint128 value) {
  std::uint8_t width = 0;
  for (; value != 0; value >>= 8) ++width;
  return width;
}

Widths widths_of(const std::vector<Row>& rows) {
  Widths widths{};
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  return widths;
}

void put_columns(const std::vector<Row>& rows, const Widths& widths, Encoder& into) {
  for (std::size_t c = 0; c < kColumns; ++c) {
    for (const Row& row : rows) into.append(std::as_bytes(std::span(&row[c], 1)).first(widths[c]));
  }
}

struct Table {
  std::vector<std::uint32_t> scopes, own_scopes;
  std::vector<Form> forms;
  std::vector<Row> inclusive, own;
};

Form form_of(const SummaryEntry& entry) {
  if (entry.exclusive.observers == 0) return Form::none;
  return entry.exclusive == entry.inclusive ? Form::inclusive : Form::own;
}

Table table_of(const Summary& summary) {
  Table table;
  for (const SummaryEntry& entry : summary.entries) {
    if (entry.inclusive.observers == 0) continue;
    if (!table.scopes.empty() && table.scopes.back() >= entry.scope) {
      throw std::invalid_argument("a summary's entries out of order");
    }
    table.scopes.push_back(entry.scope);
    table.forms.push_back(form_of(entry));
    table.inclusive.push_back(row_of(entry.inclusive));
    if (table.forms.back() != Form::own) continue;
    table.own_scopes.push_back(entry.scope);
    table.own.push_back(row_of(entry.exclusive));
  }
  return table;
}

void put_widths(const Widths& widths, Encoder& into) {
  for (const std::uint8_t width : widths) into.put(width);
}

void encode_table(const Summary& summary, Encoder& index, Encoder& data) {
  const Table table = table_of(summary);
  const Widths inclusive = widths_of(table.inclusive);
  const Widths own = widths_of(table.own);
  const std::size_t begin = data.size();
  data.append(std::as_bytes(std::span(table.scopes)));
  data.append(std::as_bytes(std::span(table.forms)));
  put_columns(table.inclusive, inclusive, data);
  data.append(std::as_bytes(std::span(table.own_scopes)));
  put_columns(table.own, own, data);
  const ByteSpan bytes = ByteSpan(data.bytes()).subspan(begin);
  index.put(summary.role);
  index.put(summary.metric);
  index.put<std::uint64_t>(begin);
  index.put<std::uint64_t>(bytes.size());
  index.put(static_cast<std::uint32_t>(table.scopes.size()));
  index.put(static_cast<std::uint32_t>(table.own_scopes.size()));
  put_widths(inclusive, index);
  put_widths(own, index);
  index.pad(format::kSummaryIndexSize - 42);
}

Widths get_widths(Decoder& from) {
  Widths widths{};
  for (std::size_t c = 0; c < kColumns; ++c) {
    widths[c] = from.get<std::uint8_t>();
    if (widths[c] > kWidest[c]) from.fail("has a column too wide");
  }
  return widths;
}

std::uint64_t row_size(const Widths& widths) {
  std::uint64_t size = 0;
  for (const std::uint8_t width : widths) size += width;
  return size;
}

}  // namespace

EncodedSummaries encode_summaries(const std::vector<Summary>& summaries) {
  Encoder index, data;
  for (const Summary& summary : summaries) encode_table(summary, index, data);
  return {index.take(), data.take()};
}

SummaryTables::SummaryTables(const CheckedBytes& index, CheckedBytes data, std::uint64_t roles,
                             std::uint64_t metrics)
    : data_(std::move(data)) {
  Decoder from(index.all(), "the index of summaries");
  std::uint64_t end = 0;
  while (from.remaining() > 0) {
    Table table;
    table.role = from.get<std::uint32_t>();
    table.metric = from.get<std::uint32_t>();
    table.offset = from.get<std::uint64_t>();
    table.size = from.get<std::uint64_t>();
    table.entries = from.get<std::uint32_t>();
    table.own = from.get<std::uint32_t>();
    table.inclusive = get_widths(from);
    table.exclusive = get_widths(from);
    from.take(format::kSummaryIndexSize - 42);
    if (table.role >= roles || table.metric >= metrics)
      index.fail("names a role or metric that does not exist");
    if (!tables_.empty() &&
        std::pair(tables_.back().role, tables_.back().metric) >= std::pair(table.role, table.metric)) {
      index.fail("is out of order");
    }
    // Tables that overlap would let a small file claim much memory.
    if (table.offset != end || table.size > data_.size() - end)
      index.fail("has tables with gaps, or that overlap");
    end += table.size;
    if (table.size !=
        table.entries * (5 + row_size(table.inclusive)) + table.own * (4 + row_size(table.exclusive))) {
      index.fail("has a table of the wrong size");
    }
    tables_.push_back(table);
  }
}

const SummaryTables::Table* SummaryTables::table(std::uint32_t role, std::uint32_t metric) const {
  const auto key = [](const Table& t) { return std::pair(t.role, t.metric); };
  const auto found = std::ranges::lower_bound(tables_, std::pair(role, metric), {}, key);
  return found == tables_.end() || key(*found) != std::pair(role, metric) ? nullptr : &*found;
}

/// The place of `scope` among `count` ascending ones.
std::optional<std::uint32_t> SummaryTables::search(std::uint64_t scopes, std::uint32_t count,
                                                   std::uint32_t scope) const {
  const auto at = [&](std::uint32_t number) {
    return load<std::uint32_t>(data_.at(scopes + std::uint64_t{number} * 4, 4));
  };
  // Ascending and distinct: a scope is never before as many as it has before it, and mostly not far from
  // there.
  std::uint32_t end = std::min(count, scope) + (count > scope ? 1 : 0);
  std::uint32_t begin = 0;
  for (std::uint32_t step = 1; step < end; step *= 2) {
    if (at(end - step) <= scope) {
      begin = end - step;
      break;
    }
    end -= step;
  }
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    const std::uint32_t found = at(middle);
    if (found == scope) return middle;
    if (found < scope) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return std::nullopt;
}

/// A row of `count`, whose columns begin at `columns`.
Accumulator SummaryTables::row(std::uint64_t columns, std::uint32_t count, const Widths& widths,
                               std::uint32_t number) const {
  Row row{};
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (widths[c] > 0) {
      std::memcpy(&row[c], data_.at(columns + std::uint64_t{number} * widths[c], widths[c]).data(),
                  widths[c]);
    }
    columns += std::uint64_t{count} * widths[c];
  }
  if (row[0] == 0) data_.fail("holds a summary of nothing");
  return accumulator_of(row);
}

Accumulator SummaryTables::exclusive(const Table& table, std::uint32_t number) const {
  const std::uint64_t forms = table.offset + std::uint64_t{table.entries} * 4;
  const std::uint64_t inclusive = forms + table.entries;
  const auto form = load<Form>(data_.at(forms + number, 1));
  if (form == Form::none) return {};
  if (form == Form::inclusive) return row(inclusive, table.entries, table.inclusive, number);
  if (form != Form::own) data_.fail("has an entry of unknown form");
  const std::uint64_t scopes = inclusive + table.entries * row_size(table.inclusive);
  const auto scope = load<std::uint32_t>(data_.at(table.offset + std::uint64_t{number} * 4, 4));
  const std::optional<std::uint32_t> own = search(scopes, table.own, scope);
  if (!own) data_.fail("lacks an exclusive row");
  return row(scopes + std::uint64_t{table.own} * 4, table.own, table.exclusive, *own);
}

Accumulator SummaryTables::get(std::uint32_t role, std::uint32_t metric, std::uint32_t scope,
                               bool inclusive) const {
  const Table* found = table(role, metric);
  if (found == nullptr) return {};
  const std::optional<std::uint32_t> number = search(found->offset, found->entries, scope);
  if (!number) return {};
  if (!inclusive) return exclusive(*found, *number);
  return row(found->offset + std::uint64_t{found->entries} * 5, found->entries, found->inclusive, *number);
}

}  // namespace culprit::database
