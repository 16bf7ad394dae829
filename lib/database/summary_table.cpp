#include "database/summary_table.hpp"

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

constexpr std::size_t kColumns = 5;
using Row = std::array<Uint128, kColumns>;
using Widths = std::array<std::uint8_t, kColumns>;
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

/// One entry of the index, decoded.
struct TableEntry {
  std::uint32_t role = 0, metric = 0;
  ByteSpan bytes;
  std::uint32_t entries = 0, own = 0;
  Widths inclusive_widths{}, own_widths{};
};

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

TableEntry get_table_entry(Decoder& from, ByteSpan data) {
  TableEntry entry;
  entry.role = from.get<std::uint32_t>();
  entry.metric = from.get<std::uint32_t>();
  const auto offset = from.get<std::uint64_t>();
  const auto size = from.get<std::uint64_t>();
  if (offset > data.size() || size > data.size() - offset) from.fail("points outside its data");
  entry.bytes = data.subspan(offset, size);
  entry.entries = from.get<std::uint32_t>();
  entry.own = from.get<std::uint32_t>();
  entry.inclusive_widths = get_widths(from);
  entry.own_widths = get_widths(from);
  from.take(format::kSummaryIndexSize - 42);
  const std::uint64_t expected =
      entry.entries * (5 + row_size(entry.inclusive_widths)) + entry.own * (4 + row_size(entry.own_widths));
  if (size != expected) from.fail("has the wrong size");
  return entry;
}

/// Fills one side (inclusive or exclusive) of the entries column by column. `at(i)` is the accumulator of row
/// i.
template <class At>
void get_columns(Decoder& from, std::size_t rows, const Widths& widths, At at) {
  std::array<ByteSpan, kColumns> columns;
  for (std::size_t c = 0; c < kColumns; ++c) columns[c] = from.take(rows * widths[c]);
  for (std::size_t i = 0; i < rows; ++i) {
    Row row{};
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (widths[c] > 0) std::memcpy(&row[c], columns[c].data() + i * widths[c], widths[c]);
    }
    at(i) = accumulator_of(row);
    if (row[0] == 0) from.fail("holds a summary of nothing");
  }
}

Summary decode_table(const TableEntry& table, std::uint64_t scopes) {
  Decoder from(table.bytes, "a summary table");
  Summary summary{table.role, table.metric, std::vector<SummaryEntry>(table.entries)};
  std::uint64_t next = 0;
  for (SummaryEntry& entry : summary.entries) {
    entry.scope = from.get<std::uint32_t>();
    if (entry.scope < next || entry.scope >= scopes) from.fail("has scopes out of order or out of range");
    next = std::uint64_t{entry.scope} + 1;
  }
  const ByteSpan forms = from.take(table.entries);
  get_columns(from, table.entries, table.inclusive_widths,
              [&](std::size_t i) -> Accumulator& { return summary.entries[i].inclusive; });
  std::vector<std::uint32_t> own;
  for (std::uint32_t i = 0; i < table.entries; ++i) {
    const auto form = static_cast<Form>(forms[i]);
    if (form == Form::inclusive) summary.entries[i].exclusive = summary.entries[i].inclusive;
    if (form == Form::own) own.push_back(i);
    if (form > Form::own) from.fail("has an entry of unknown form");
  }
  if (own.size() != table.own) from.fail("has exclusive rows that belong to nothing");
  for (const std::uint32_t i : own) {
    if (from.get<std::uint32_t>() != summary.entries[i].scope)
      from.fail("has exclusive rows of other scopes");
  }
  get_columns(from, own.size(), table.own_widths,
              [&](std::size_t i) -> Accumulator& { return summary.entries[own[i]].exclusive; });
  from.expect_end();
  return summary;
}

}  // namespace

EncodedSummaries encode_summaries(const std::vector<Summary>& summaries) {
  Encoder index, data;
  for (const Summary& summary : summaries) encode_table(summary, index, data);
  return {index.take(), data.take()};
}

std::vector<Summary> decode_summaries(ByteSpan index, ByteSpan data, std::uint64_t scopes,
                                      std::uint64_t roles, std::uint64_t metrics) {
  Decoder from(index, "the index of summaries");
  std::vector<Summary> summaries;
  summaries.reserve(index.size() / format::kSummaryIndexSize);
  std::uint64_t covered = 0;
  while (from.remaining() > 0) {
    const TableEntry table = get_table_entry(from, data);
    if (table.role >= roles || table.metric >= metrics)
      from.fail("names a role or metric that does not exist");
    if (!summaries.empty()) {
      const Summary& last = summaries.back();
      if (std::pair(last.role, last.metric) >= std::pair(table.role, table.metric))
        from.fail("is out of order");
    }
    // Tables that overlap would let a small file claim much memory.
    covered += table.bytes.size();
    if (covered > data.size()) from.fail("has overlapping tables");
    summaries.push_back(decode_table(table, scopes));
  }
  return summaries;
}

}  // namespace culprit::database
