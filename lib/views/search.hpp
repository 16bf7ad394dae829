#pragma once

#include "views/view.hpp"
#include "views/visible.hpp"

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace re2 {
class RE2;
}

namespace culprit::views {

/// Finds nodes by their labels without expanding the view: it goes through the numbered nodes, in steps as
/// small as the caller likes. Case matters only where the pattern has a capital letter. Of callers, only the
/// procedures themselves are gone through; matches() answers for nodes that were expanded.
class Search {
 public:
  /// `pattern`: RE2. What is passed over is not found. `view` must outlive this. Throws BadPattern.
  Search(const View& view, const std::string& pattern, const PassedOver& passed_over);
  ~Search();
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;

  /// Goes through the next `nodes` nodes; true while some are left.
  bool step(std::size_t nodes);
  [[nodiscard]] bool done() const { return next_ >= view_->numbered(); }

  /// Whether the node's own label matches; does not need step().
  [[nodiscard]] bool matches(NodeId node) const;
  /// Whether a node found so far is `node` or lies below it.
  [[nodiscard]] bool touches(NodeId node) const;
  [[nodiscard]] std::size_t found() const { return found_.size(); }

 private:
  [[nodiscard]] bool label_matches(NodeId node) const;
  [[nodiscard]] bool passed_over(NodeId node) const;

  const View* view_;
  std::unique_ptr<re2::RE2> pattern_;
  PassedOver passed_over_;
  NodeId next_ = 0;
  std::vector<NodeId> found_;                ///< ascending
  mutable std::vector<std::uint8_t> known_;  ///< by View::alike: not yet known, no, yes

  /// A call site, by the place of its file's name and its line.
  struct Site {
    const char* file = nullptr;
    std::uint32_t line = 0;
    friend bool operator==(const Site&, const Site&) = default;
  };
  struct SiteHash {
    std::size_t operator()(const Site& site) const;
  };
  mutable std::unordered_map<Site, bool, SiteHash> sites_;  ///< those that are known, with nothing alike
};

/// What is searched for is no regular expression. what() is "why (what to do)".
class BadPattern : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A regular expression (RE2) as people type it: case matters only where it has a capital letter. Throws
/// BadPattern.
std::unique_ptr<re2::RE2> make_pattern(const std::string& text);

}  // namespace culprit::views
