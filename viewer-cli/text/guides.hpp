#pragma once

#include <string>

namespace culprit::viewer {

/// The signs that a tree is drawn with.
struct Guides {
  std::string middle, last, through, nothing, arrow;
};

inline Guides guides(bool unicode) {
  if (unicode) return {"├ ", "└ ", "│ ", "  ", "← "};
  return {"|-", "`-", "| ", "  ", "<- "};
}

}  // namespace culprit::viewer
