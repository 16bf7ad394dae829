// Rust's mangling v0 (RFC 2603, and https://doc.rust-lang.org/rustc/symbol-mangling/v0.html for what came
// later) is the syntax of paths, types and constants in prefix form: the first letter of each says what it
// is. So this is a recursive descent that writes as it reads. What was read before is referred to by its
// place (`B`), and is then read again there. LLVM and GNU have such demanglers too; theirs put no bound on
// what back references expand to.
#include "structure/rust_symbol.hpp"

#include "structure/code_points.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace culprit::structure {
namespace {

constexpr unsigned kDeepestProduction = 200;    // of productions in each other
constexpr std::size_t kLongestRustName = 8192;  // nobody reads on
constexpr unsigned kMostSteps = 100'000;

/// What is read is no symbol of Rust's, or more than we read.
class Refused {};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}
bool is_upper(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

/// By its letter; nothing where it is none.
std::string_view basic_type(char letter) {
  constexpr std::array<std::string_view, 26> kNames = {
      "i8",   "bool", "char", "f64", "str", "f32", {},    "u8", "isize", "usize", {},    "i32", "u32",
      "i128", "u128", "_",    {},    {},    "i16", "u16", "()", "...",   {},      "i64", "u64", "!"};
  return letter >= 'a' && letter <= 'z' ? kNames.at(static_cast<std::size_t>(letter - 'a'))
                                        : std::string_view();
}

struct Identifier {
  std::uint64_t number = 0;  ///< distinguishes what has the same name
  std::string name;
};

class RustSymbolReader {
 public:
  explicit RustSymbolReader(std::string_view text) : text_(text) {}

  std::string read() {
    path(true);
    if (at_ < text_.size()) {
      written_ = false;  // the crate that an instance was made for
      path(false);
    }
    if (at_ != text_.size()) throw Refused();
    return std::move(out_);
  }

 private:
  /// One production within another.
  class Deeper {
   public:
    explicit Deeper(RustSymbolReader& reader) : reader_(reader) {
      if (++reader_.depth_ > kDeepestProduction || ++reader_.steps_ > kMostSteps) throw Refused();
    }
    ~Deeper() { --reader_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    RustSymbolReader& reader_;
  };

  char next() {
    if (at_ == text_.size()) throw Refused();
    return text_[at_++];
  }
  bool eat(char letter) {
    if (at_ == text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }
  void write(std::string_view text) {
    if (!written_) return;
    if (out_.size() + text.size() > kLongestRustName) throw Refused();
    out_ += text;
  }
  void write_number(std::uint64_t number) { write(std::to_string(number)); }

  std::uint64_t decimal() {
    std::uint64_t value = 0;
    if (at_ == text_.size() || !is_digit(text_[at_])) throw Refused();
    if (eat('0')) return 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
      if (value > text_.size()) throw Refused();  // it counts bytes
    }
    return value;
  }

  /// `_` is 0, `0_` 1, and so on.
  std::uint64_t base_62() {
    constexpr std::uint64_t kMost = UINT64_MAX - 2;  // callers count on
    if (eat('_')) return 0;
    std::uint64_t value = 0;
    for (char letter = next(); letter != '_'; letter = next()) {
      const bool lower = letter >= 'a' && letter <= 'z';
      if (!is_digit(letter) && !lower && !is_upper(letter)) throw Refused();
      const int digit = is_digit(letter) ? letter - '0' : lower ? letter - 'a' + 10 : letter - 'A' + 36;
      if (value > (kMost - static_cast<std::uint64_t>(digit)) / 62) throw Refused();
      value = value * 62 + static_cast<std::uint64_t>(digit);
    }
    return value + 1;
  }
  std::uint64_t marked_base_62(char mark) { return eat(mark) ? base_62() + 1 : 0; }

  Identifier identifier() {
    Identifier result;
    result.number = marked_base_62('s');
    const bool punycode = eat('u');
    const std::uint64_t length = decimal();
    eat('_');
    if (length > text_.size() - at_) throw Refused();
    const std::string_view name = text_.substr(at_, length);
    at_ += length;
    if (!punycode) {
      result.name = name;
      return result;
    }
    std::optional<std::string> decoded = decode_punycode(name);
    if (!decoded) throw Refused();
    result.name = std::move(*decoded);
    return result;
  }

  /// Reads again what was read at the place that follows, where it is to be written.
  template <class Read>
  void back_reference(std::size_t begin, Read read) {
    const std::uint64_t place = base_62();
    if (place >= begin) throw Refused();
    if (!written_) return;
    const std::size_t behind = at_;
    at_ = static_cast<std::size_t>(place);
    read();
    at_ = behind;
  }

  /// As many as there are up to an `E`; how many there were.
  template <class Read>
  std::size_t list(std::string_view separator, Read read) {
    std::size_t count = 0;
    for (; !eat('E'); ++count) {
      if (count > 0) write(separator);
      read();
    }
    return count;
  }

  /// `in_value`: a path in an expression, where generic arguments stand behind `::`.
  void path(bool in_value) {
    const Deeper deeper(*this);
    const std::size_t begin = at_;
    switch (next()) {
      case 'C':
        write(identifier().name);
        break;
      case 'N':
        nested(in_value);
        break;
      case 'M':
        skip_impl();
        implementation(false);
        break;
      case 'X':
        skip_impl();
        [[fallthrough]];
      case 'Y':
        implementation(true);
        break;
      case 'I':
        path(in_value);
        write(in_value ? "::<" : "<");
        list(", ", [this] { generic_argument(); });
        write(">");
        break;
      case 'B':
        back_reference(begin, [&] { path(in_value); });
        break;
      default:
        throw Refused();
    }
  }

  /// Where an implementation stands: its type says enough.
  void skip_impl() {
    const bool before = written_;
    written_ = false;
    marked_base_62('s');
    path(false);
    written_ = before;
  }

  void implementation(bool of_trait) {
    write("<");
    type();
    if (of_trait) {
      write(" as ");
      path(false);
    }
    write(">");
  }

  void nested(bool in_value) {
    const char space = next();
    if (!is_upper(space) && (space < 'a' || space > 'z')) throw Refused();
    path(in_value);
    const Identifier self = identifier();
    if (!is_upper(space)) {
      if (!self.name.empty()) write("::" + self.name);
      return;
    }
    write("::{");
    write(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
    if (!self.name.empty()) write(":" + self.name);
    write("#");
    write_number(self.number);
    write("}");
  }

  void generic_argument() {
    if (eat('L')) {
      lifetime(base_62());
    } else if (eat('K')) {
      constant();
    } else {
      type();
    }
  }

  /// By how many binders lie between it and its own; 0: it was erased.
  void lifetime(std::uint64_t index) {
    if (index == 0) {
      write("'_");
      return;
    }
    if (index > bound_) throw Refused();
    const std::uint64_t number = bound_ - index;
    constexpr std::uint64_t kLetters = 26;
    write("'");
    if (number < kLetters) {
      const char letter = static_cast<char>('a' + number);
      write(std::string_view(&letter, 1));
    } else {
      write("_");
      write_number(number);
    }
  }

  /// `for<'a, 'b> ` around what `read` reads.
  template <class Read>
  void bound(Read read) {
    const std::uint64_t count = marked_base_62('G');
    if (count > text_.size()) throw Refused();
    const std::uint64_t before = bound_;
    if (count > 0) {
      write("for<");
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i > 0) write(", ");
        ++bound_;
        lifetime(1);
      }
      write("> ");
    }
    read();
    bound_ = before;
  }

  void type() {
    const Deeper deeper(*this);
    const std::size_t begin = at_;
    const char letter = next();
    if (const std::string_view basic = basic_type(letter); !basic.empty()) {
      write(basic);
      return;
    }
    switch (letter) {
      case 'A':
        write("[");
        type();
        write("; ");
        constant();
        write("]");
        break;
      case 'S':
        write("[");
        type();
        write("]");
        break;
      case 'T':
        write("(");
        if (list(", ", [this] { type(); }) == 1) write(",");
        write(")");
        break;
      case 'R':
      case 'Q':
        reference(letter == 'Q');
        break;
      case 'P':
      case 'O':
        write(letter == 'P' ? "*const " : "*mut ");
        type();
        break;
      case 'F':
        bound([this] { function(); });
        break;
      case 'D':
        write("dyn ");
        bound([this] { list(" + ", [this] { bounds_of_trait(); }); });
        if (!eat('L')) throw Refused();
        if (const std::uint64_t index = base_62(); index != 0) {
          write(" + ");
          lifetime(index);
        }
        break;
      case 'B':
        back_reference(begin, [this] { type(); });
        break;
      default:
        at_ = begin;
        path(false);
    }
  }

  void reference(bool may_change) {
    write("&");
    if (eat('L')) {
      if (const std::uint64_t index = base_62(); index != 0) {
        lifetime(index);
        write(" ");
      }
    }
    if (may_change) write("mut ");
    type();
  }

  void function() {
    if (eat('U')) write("unsafe ");
    if (eat('K')) {
      write("extern \"");
      if (eat('C')) {
        write("C");
      } else {
        std::string abi = identifier().name;
        for (char& letter : abi) {
          if (letter == '_') letter = '-';
        }
        write(abi);
      }
      write("\" ");
    }
    write("fn(");
    list(", ", [this] { type(); });
    write(")");
    if (eat('u')) return;
    write(" -> ");
    type();
  }

  /// A trait whose associated types are said among its generic arguments: `Iterator<Item = u8>`.
  void bounds_of_trait() {
    bool open = open_path();
    while (eat('p')) {
      write(open ? ", " : "<");
      open = true;
      write(identifier().name);
      write(" = ");
      type();
    }
    if (open) write(">");
  }

  /// A path whose generic arguments are not closed; whether it has any.
  bool open_path() {
    const Deeper deeper(*this);
    const std::size_t begin = at_;
    if (eat('B')) {
      bool open = false;
      back_reference(begin, [&] { open = open_path(); });
      return open;
    }
    if (!eat('I')) {
      path(false);
      return false;
    }
    path(false);
    write("<");
    list(", ", [this] { generic_argument(); });
    return true;
  }

  /// The hexadecimal digits up to `_`.
  std::string_view hexadecimal() {
    const std::size_t begin = at_;
    for (char letter = next(); letter != '_'; letter = next()) {
      if (!is_digit(letter) && (letter < 'a' || letter > 'f')) throw Refused();
    }
    return text_.substr(begin, at_ - begin - 1);
  }

  static std::optional<std::uint64_t> value_of(std::string_view digits) {
    std::uint64_t value = 0;
    if (digits.empty()) return value;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc()) return std::nullopt;
    return value;
  }

  void constant() {
    const Deeper deeper(*this);
    const std::size_t begin = at_;
    const char letter = next();
    switch (letter) {
      case 'p':
        write("_");
        break;
      case 'a':
      case 's':
      case 'l':
      case 'x':
      case 'n':
      case 'i':
        if (eat('n')) write("-");
        [[fallthrough]];
      case 'h':
      case 't':
      case 'm':
      case 'y':
      case 'o':
      case 'j':
        integer();
        break;
      case 'b':
        boolean();
        break;
      case 'c':
        character();
        break;
      case 'e':
        write("*");
        string();
        break;
      case 'B':
        back_reference(begin, [this] { constant(); });
        break;
      default:
        composite_constant(letter);
    }
  }

  void composite_constant(char letter) {
    switch (letter) {
      case 'R':
      case 'Q':
        if (letter == 'R' && eat('e')) {
          string();
          break;
        }
        write(letter == 'R' ? "&" : "&mut ");
        constant();
        break;
      case 'A':
        write("[");
        list(", ", [this] { constant(); });
        write("]");
        break;
      case 'T':
        write("(");
        if (list(", ", [this] { constant(); }) == 1) write(",");
        write(")");
        break;
      case 'V':
        variant();
        break;
      default:
        throw Refused();
    }
  }

  void integer() {
    const std::string_view digits = hexadecimal();
    if (const std::optional<std::uint64_t> value = value_of(digits)) {
      write_number(*value);
    } else {
      write("0x");
      write(digits);
    }
  }

  void boolean() {
    const std::optional<std::uint64_t> value = value_of(hexadecimal());
    if (!value || *value > 1) throw Refused();
    write(*value == 1 ? "true" : "false");
  }

  void character() {
    const std::optional<std::uint64_t> value = value_of(hexadecimal());
    if (!value) throw Refused();
    std::string text;
    if (!add_utf8(text, *value)) throw Refused();
    write("'");
    write(text == "'" || text == "\\" ? "\\" + text : text);
    write("'");
  }

  void string() {
    const std::string_view digits = hexadecimal();
    if (digits.size() % 2 != 0) throw Refused();
    std::string text;
    for (std::size_t at = 0; at < digits.size(); at += 2) {
      const char letter = static_cast<char>(*value_of(digits.substr(at, 2)));
      if (letter == '"' || letter == '\\') text += '\\';
      text += letter;
    }
    write('"' + text + '"');
  }

  /// A value of a structure or an enumeration.
  void variant() {
    path(true);
    switch (next()) {
      case 'U':
        break;
      case 'T':
        write("(");
        list(", ", [this] { constant(); });
        write(")");
        break;
      case 'S':
        write(" { ");
        list(", ", [this] {
          write(identifier().name);
          write(": ");
          constant();
        });
        write(" }");
        break;
      default:
        throw Refused();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  bool written_ = true;
  unsigned depth_ = 0, steps_ = 0;
  std::uint64_t bound_ = 0;  ///< lifetimes that binders around name
};

}  // namespace

std::optional<std::string> demangle_rust(std::string_view symbol) {
  // Behind `_R` stands the number of a later version, of which there is none yet, or a path.
  if (symbol.size() < 3 || !symbol.starts_with("_R") || !is_upper(symbol[2])) return std::nullopt;
  try {
    return RustSymbolReader(symbol.substr(2)).read();
  } catch (const Refused&) {
    return std::nullopt;
  }
}

}  // namespace culprit::structure
