#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace culprit::structure {

/// The readable form of a symbol of Rust's mangling v0, `_R…`, as rustc's own demangler writes it without
/// hashes; nothing where the symbol is none, or where it is too deep or its name too long to be worth reading
/// (back references let names grow exponentially). Thread-safe.
std::optional<std::string> demangle_rust(std::string_view symbol);

/// Rust's older mangling is Itanium's with a hash as the last component, `::h` and sixteen hexadecimal
/// digits, and with
/// `$LT$`, `..` and the like for what Itanium does not allow in names. Makes `name`, demangled as Itanium's,
/// readable; leaves others as they are.
void read_legacy_rust(std::string& name);

}  // namespace culprit::structure
