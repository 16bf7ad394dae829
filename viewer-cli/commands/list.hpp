#pragma once

#include "findings/thread_times.hpp"
#include "text/call_path_text.hpp"
#include "text/screen.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

// Lists of waits, causes and hotspots for people: one row for each pattern and call path, whose threads are a
// set, or one for each thread. Each list is described once; its text and its page in the browser are written
// from that. Csv and json have a row for each thread, always (table.hpp).
namespace culprit::viewer {

/// What is wanted of a list.
struct ListOptions {
  bool by_rank = false;  ///< a row for each thread
  bool unicode = true;
  std::size_t most = 25;       ///< rows
  double least_share = 0.002;  ///< of the whole: what a row needs to be listed, but the first
};

/// A call path below a row.
struct ListPath {
  std::string before = {};  ///< what the path is, e.g. `waiter in `
  database::ContextId context = 0;
  bool between = false;                       ///< between two MPI calls
  std::vector<std::uint32_t> locations = {};  ///< threads to show there
};

struct ListRow {
  std::uint64_t ns = 0;
  bool counts = true;                ///< towards the whole; parts of other rows do, completions do not
  std::string name = {};             ///< e.g. the pattern; empty: the row is about the code of its first path
  std::string text = {};             ///< whose it is, and what else is said; wrap() breaks it
  std::string topic = {};            ///< what the browser explains
  std::vector<ListPath> paths = {};  ///< one at least
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
  std::vector<std::string> notes = {};
};

/// Rows that fall together, before they are written.
struct RowGroup {
  std::uint64_t ns = 0;
  std::uint64_t part_ns = 0;  ///< of ns, as the list means it
  ThreadTimes who, whom;
  database::ContextId context = database::kNone, other = database::kNone;  ///< of the first, the largest
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

/// Makes rows of as many of the groups, which are the largest first, as the options ask for.
template <class Groups, class MakeRow>
void add_rows(List& list, const Groups& groups, const ListOptions& options, MakeRow make_row) {
  const double least = options.least_share * static_cast<double>(list.whole_ns);
  for (const auto& [key, group] : groups) {
    const bool listed =
        list.rows.empty() || (list.rows.size() < options.most && static_cast<double>(group.ns) >= least);
    if (!listed) break;
    list.rows.push_back(make_row(key, group));
    list.has_sets = list.has_sets || group.who.parts().size() > 1;
  }
  list.left_out = groups.size() - list.rows.size();
  if (list.left_out > 0) list.largest_left_ns = groups[list.rows.size()].second.ns;
}

/// A row's share of the whole; none where it is no part of it.
std::optional<double> share_of(const List& list, const ListRow& row);

void write_list(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                const List& list);

}  // namespace culprit::viewer
