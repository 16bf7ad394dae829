#pragma once

#include "database/encoding.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace culprit::database {

/// A value as it stands at `bytes[at]`, aligned or not. The caller has made sure that it lies in `bytes`.
template <class T>
T load(ByteSpan bytes, std::size_t at = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace culprit::database
