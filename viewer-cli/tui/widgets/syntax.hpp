#pragma once

#include "tui/widgets/tone.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer::tui {

/// Where, in a line of source text, a tone begins (bytes); it lasts until the next.
using Tones = std::vector<std::pair<std::size_t, Tone>>;

/// Colours source text line by line with libsource-highlight; remembers where it is (comments go on over
/// lines), so lines must come in order. A language that it does not know stays plain.
class Syntax {
 public:
  /// The language follows from the file's name.
  explicit Syntax(const std::string& file);
  ~Syntax();
  Syntax(const Syntax&) = delete;
  Syntax& operator=(const Syntax&) = delete;

  [[nodiscard]] Tones next(const std::string& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::viewer::tui
