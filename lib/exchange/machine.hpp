#pragma once

#include "exchange/communicator.hpp"

#include <string>
#include <string_view>

namespace culprit::exchange {

/// What programs on this machine, and only they, agree on: the boot of its kernel, which containers share as
/// they share its memory; the machine's name where the kernel does not give it.
std::string this_machine();

/// Collective: how many ranks gave this name, this one included. With this_machine(): how many share its
/// memory.
int ranks_with(Communicator& comm, std::string_view name);

}  // namespace culprit::exchange
