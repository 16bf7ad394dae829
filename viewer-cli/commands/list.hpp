#pragma once

#include "database/contents.hpp"
#include "findings/idleness_parts.hpp"
#include "findings/thread_times.hpp"
#include "text/call_path_text.hpp"
#include "text/quantity.hpp"
#include "text/screen.hpp"
#include "text/shorten.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

// What commands list for people. Each list is described once; its text, its page in the browser and its part
// of the html page are written from that. Waits, causes, hotspots and the critical path have a list and a
// table (text/table.hpp), since these are not the same rows: a list adds up threads and all call paths that
// read alike, and says in words what it added up; a table, for csv and json, has a row of plain values for
// each thread and call path. Only what was found is common to both.
namespace culprit::viewer {

/// Rows of a text; csv and json leave out nothing.
inline constexpr std::size_t kTraceRowsShown = 25;
/// Of the whole: what a row needs to be shown in a text.
inline constexpr double kTraceRowShare = 0.002;

/// What is wanted of a list.
struct ListOptions {
  bool by_rank = false;  ///< a row for each thread
  bool unicode = true;
  bool counts = true;                   ///< say how many things a sum is of, where room allows for it
  std::size_t most = kTraceRowsShown;   ///< rows
  double least_share = kTraceRowShare;  ///< of the whole: what a row needs to be listed, but the first
  IdlenessParts waiting = {};  ///< what the report counts, to which totals are related; without: to none
  std::size_t name_columns = kWholeName;           ///< of names of code
  std::vector<database::ContextId> left_out = {};  ///< calls in which waits are not listed
  std::vector<bool> serving = {};  ///< roles that only serve others (serving_threads.hpp); none: none does

  /// The thread that a row with this location is of; kNone where threads fall together.
  [[nodiscard]] std::uint32_t thread_of_row(std::uint32_t location) const {
    return by_rank ? location : database::kNone;
  }
};

/// A call path below a row.
struct ListPath {
  std::string before = {};  ///< what the path is, e.g. `waiter in `
  database::ContextId context = 0;
  bool between = false;                       ///< between two calls that wait, of MPI or for threads
  std::vector<std::uint32_t> locations = {};  ///< threads to show there
};

/// One of the segments of `variation`.
struct ListSegment {
  std::int32_t rank = -1;
  std::uint32_t segment = 0, level = 0;
};

struct ListRow {
  std::uint64_t ns = 0;
  std::optional<std::uint64_t> counted_ns = {};  ///< of that, towards the whole; none: all of it
  std::string name = {};   ///< e.g. the pattern; empty: the row is about the code of its first path
  std::string id = {};     ///< of the code that is named, as commands take it
  std::string text = {};   ///< whose it is, and what else is said; wrap() breaks it
  std::string topic = {};  ///< what the browser explains
  std::optional<ListSegment> segment = {};  ///< what it is of, rather than of code
  std::vector<ListPath> paths = {};         ///< of code: one at least
};

struct List {
  std::string command = {};             ///< which lists it
  std::string title = {}, amount = {};  ///< headings of the page: `WAITS`, `waited`
  std::string introduction = {};        ///< or why there are no rows; wrap() breaks it, as the notes
  std::vector<ListRow> rows = {};       ///< the largest first
  std::uint64_t whole_ns = 0;           ///< what rows are shares of; 0: of nothing
  std::size_t left_out = 0;             ///< further rows
  std::uint64_t largest_left_ns = 0;
  bool has_sets = false;  ///< some row is of several threads
  bool apart = false;     ///< texts stand below names
  bool numbered = false;  ///< in a text, rows begin with their number, not with their amount
  std::vector<std::string> notes = {};

  /// Unless it says nothing.
  void add_note(std::string note) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
};

/// Rows that fall together, before they are written.
struct RowGroup {
  std::uint64_t ns = 0;
  std::uint64_t part_ns = 0;  ///< of ns, as the list means it
  std::uint64_t count = 0;    ///< how many things together; 0: not known
  ThreadTimes who, whom;
  std::set<const database::Wait*> made_wait;  ///< others' waits for these, where a list is of who made wait
  database::ContextId context = database::kNone, other = database::kNone;  ///< of the first, the largest

  /// Adds what one thread has of it.
  void add(std::uint32_t location, std::uint64_t some_ns, database::ContextId its_context,
           database::ContextId its_other = database::kNone) {
    if (context == database::kNone) {
      context = its_context;
      other = its_other;
    }
    ns += some_ns;
    who.add(location, some_ns);
  }
};

/// Groups by key, in the order in which keys come.
template <class Key>
class RowGroups {
 public:
  RowGroup& operator[](const Key& key) {
    const auto [place, added] = places_.try_emplace(key, groups_.size());
    if (added) groups_.emplace_back(key, RowGroup{});
    return groups_[place->second].second;
  }
  /// All of them, each added up, the largest first.
  std::vector<std::pair<Key, RowGroup>> take();

 private:
  std::map<Key, std::size_t> places_;
  std::vector<std::pair<Key, RowGroup>> groups_;
};

template <class Key>
std::vector<std::pair<Key, RowGroup>> RowGroups<Key>::take() {
  for (auto& [key, group] : groups_) {
    group.who.add_up();
    group.whom.add_up();
  }
  std::ranges::stable_sort(groups_, std::ranges::greater(), [](const auto& each) { return each.second.ns; });
  return std::move(groups_);
}

/// Makes rows of as many of the items, of `ns_of` each, as the options ask for. What counts is the largest
/// first; what no share counts comes after it, likewise.
template <class Items, class Amount, class MakeRow>
void add_rows(List& list, const Items& items, const ListOptions& options, Amount ns_of, MakeRow make_row) {
  const double least = options.least_share * static_cast<double>(list.whole_ns);
  for (const auto& item : items) {
    const bool listed =
        list.rows.empty() || (list.rows.size() < options.most && static_cast<double>(ns_of(item)) >= least);
    if (listed) {
      list.rows.push_back(make_row(item));
    } else {
      ++list.left_out;
      list.largest_left_ns = std::max(list.largest_left_ns, ns_of(item));
    }
  }
}

/// The same of groups.
template <class Key, class MakeRow>
void add_rows(List& list, const std::vector<std::pair<Key, RowGroup>>& groups, const ListOptions& options,
              MakeRow make_row) {
  const auto ns_of = [](const auto& item) { return item.second.ns; };
  add_rows(list, groups, options, ns_of, [&](const auto& item) {
    list.has_sets = list.has_sets || item.second.who.parts().size() > 1;
    return make_row(item.first, item.second);
  });
}

/// Of what made others wait: ` (part of 640 waits, mean 20 ms)`, whatever else made them longer; where it was
/// one, or how many is not known, nothing.
std::string part_of_waits_phrase(const RowGroup& group, const ListOptions& options);

/// A row's share of the whole; none where it is no part of it.
std::optional<double> share_of(const List& list, const ListRow& row);

/// Behind a name or path of code, that it lies between two calls; else empty.
std::string between_phrase(const database::Contents& experiment, const ListPath& path);

void write_list(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                const List& list);
void write_list_path(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     const ListPath& path);

// What the outputs on time lines have in common.

/// How many rows, largest first, a text shows.
template <class Rows, class Amount>
std::size_t rows_to_show(const Rows& rows, double whole, Amount amount) {
  std::size_t shown = 0;
  while (shown < rows.size() && shown < kTraceRowsShown &&
         static_cast<double>(amount(rows[shown])) >= kTraceRowShare * whole)
    ++shown;
  return shown;
}

/// Throws CommandError, which says how to get one, unless the run has a trace.
void require_trace(const database::Contents& experiment, const std::string& command,
                   const std::string& database);

// Wait states (`waits`): who waited where, by pattern, and where it is known because of whom.

/// All waiting that the options list: parts of waits and completions are left out, and what serving threads
/// wait.
std::uint64_t waiting_ns(const database::Contents& experiment, const ListOptions& options);

/// What one thread waited at one call path, by one pattern: a row of `waits --by-rank`.
struct ThreadWait {
  std::uint64_t ns = 0, count = 0;
  bool longest = true;  ///< no wait that is only approximated is longer
  std::uint32_t location = 0;
  database::ContextId context = 0;
  std::string whom = {};  ///< `rank 2`, or `ranks 0-3, most for 2 (1.3 s)`
};
/// The longest of those that time lines show and whose cause is known, in MPI_Init and MPI_Finalize only
/// where these count; none where there is none.
std::optional<ThreadWait> longest_wait(const database::Contents& experiment, bool without_startup,
                                       bool unicode);

Table waits_table(const database::Contents& experiment);
List waits_list(const database::Contents& experiment, const ListOptions& options);

// Root causes of waiting (`causes`): what code on which thread cost others, directly and through others.

/// Costs by thread and scope, added up by what the user wrote or chose (UsersScopes); the most expensive
/// first.
std::vector<database::Cause> causes_by_scope(const database::Contents& experiment);

/// One row per thread and call path, and at the end one with an empty path for what is unexplained.
Table causes_table(const database::Contents& experiment);
/// The same, that row where its amount belongs.
Json causes_json(const database::Contents& experiment);
List causes_list(const database::Contents& experiment, const ListOptions& options);

// Hot procedures that made others wait (`hotspots`).

Table hotspots_table(const database::Contents& experiment);
List hotspots_list(const database::Contents& experiment, const ListOptions& options);

// The critical path (`critical-path`): what the run's length depends on.

/// A row per scope and thread.
Table critical_path_table(const database::Contents& experiment);
/// An object per scope.
Json critical_path_json(const database::Contents& experiment);
/// Its scopes, added up by what the user wrote or chose (UsersScopes).
List critical_path_list(const database::Contents& experiment, const ListOptions& options);

}  // namespace culprit::viewer
