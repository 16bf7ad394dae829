#include "tui/pages/keys_page.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace culprit::viewer::tui {
namespace {

using Line = std::pair<std::string_view, std::string_view>;  // keys, what they do; no keys: a heading

constexpr std::array kLines = {
    Line{"", "EVERYWHERE"},
    Line{"1 .. 9, Tab", "go to another tab (0: a comparison)"},
    Line{"j k g G, arrows", "move; Space, PgDn and PgUp: a page"},
    Line{"Enter", "open, or go where the line leads"},
    Line{"/  n  N", "search (regular expression), next, previous"},
    Line{"b", "from a wait to the code blamed, then to the suspect"},
    Line{"B", "back to where you came from"},
    Line{"s  r", "source, and values over ranks, of the chosen code"},
    Line{"e", "explain columns, maps, or the wait under the cursor"},
    Line{"D", "compare with another database"},
    Line{"w", "write this screen to a file"},
    Line{"y", "copy the call path under the cursor (OSC 52)"},
    Line{"?  F1", "these keys"},
    Line{"q  F10", "quit"},
    Line{"", "TREES"},
    Line{"l h, right left", "open, close or go to the parent"},
    Line{"H", "hot path: where most of the sorted column goes"},
    Line{"+  *  -", "open two levels, open all below, close everything"},
    Line{"z  Z", "zoom into the subtree, and back"},
    Line{"F  U", "flat view: one level less, or more, at the top"},
    Line{"<  >  F6", "sort by the column before or behind; choose it"},
    Line{"I  %", "smallest first; shares instead of amounts"},
    Line{"c  [  ]", "choose columns, scroll them"},
    Line{"d", "define a metric: CPI=$PAPI_TOT_CYC/$PAPI_TOT_INS"},
    Line{"f  &  F4", "filter: only paths through what matches"},
    Line{"t", "hide branches below a share"},
    Line{"u", "unfold recursion and the insides of std::"},
    Line{"o", "source lines, inside of waits, start-up frames"},
    Line{"R  T", "only some ranks, only some threads"},
    Line{"m", "mark nodes, to see them together over ranks"},
    Line{"", "RANKS"},
    Line{"m", "by rank, sorted, histogram"},
    Line{"h l, + -, 0", "cursor, zoom, everything"},
    Line{"<  >  x", "another column; take all marks away"},
    Line{"", "TIME"},
    Line{"h j k l, + -, 0", "cursor, zoom, everything"},
    Line{"m  < >", "iterations, waiting, each pattern, time in MPI"},
    Line{"v", "finer or coarser iterations"},
    Line{"Enter", "the code where the time went"},
    Line{"", "FINDINGS"},
    Line{"h l", "another analysis"},
    Line{"m", "waits, causes, hotspots: rank by rank, or together"},
    Line{"", "FLAME"},
    Line{"arrows, Enter", "to another frame; zoom into it; Backspace: back"},
    Line{"m", "by calling context, or by callers"},
    Line{"", "DIFF"},
    Line{"m  v", "metric; strong or weak scaling"},
    Line{"<  >  I  H", "sort, smallest first, where most changed"},
    Line{"", "SOURCE"},
    Line{"n  N", "next and previous line with costs"},
    Line{"P", "where the files are now (OLD=NEW)"},
};

}  // namespace

Page keys_page() {
  constexpr std::size_t kKeys = 17;
  Page page;
  for (const auto& [keys, text] : kLines) {
    if (keys.empty()) {
      page.blank();
      page.add(std::string(text), Tone::heading);
      continue;
    }
    page.add({{{"  " + std::string(keys) + std::string(kKeys - keys.size(), ' '), Tone::key},
               {std::string(text), Tone::plain}},
              {},
              {}});
  }
  return page;
}

}  // namespace culprit::viewer::tui
