#include "waits/timeline/pattern.hpp"

#include <array>

namespace culprit::waits {

std::string_view name_of(Pattern pattern) {
  static constexpr std::array<std::string_view, kPatterns> kNames = {"none",
                                                                     "late-sender",
                                                                     "late-sender-wrong-order",
                                                                     "late-receiver",
                                                                     "wait-at-barrier",
                                                                     "barrier-completion",
                                                                     "wait-at-nxn",
                                                                     "nxn-completion",
                                                                     "wait-at-init",
                                                                     "wait-at-finalize",
                                                                     "late-broadcast",
                                                                     "early-reduce",
                                                                     "early-scan",
                                                                     "late-post",
                                                                     "early-transfer",
                                                                     "early-wait",
                                                                     "late-complete",
                                                                     "wait-at-fence",
                                                                     "early-fence",
                                                                     "wait-at-create",
                                                                     "wait-at-free",
                                                                     "lock-wait"};
  return kNames[static_cast<std::size_t>(pattern)];
}

}  // namespace culprit::waits
