#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit::print {

/// `text` spelled as printable.hpp says: what may come out of a tool, in one line, and valid UTF-8.
std::string spelled(std::string_view text);

/// Whether `text` is its own spelling. Looks at sixteen bytes at a time where they are ASCII.
bool is_spelled(std::string_view text);

/// `1 rank`, `2 ranks`.
std::string counted(std::uint64_t number, std::string_view noun);

/// `word` as one types it in a shell.
std::string shell_word(std::string_view word);

/// `path` as one types it in a shell, where no command takes it for an option.
std::string shell_path(std::string_view path);

}  // namespace culprit::print
