#pragma once

#include "cct/canonical.hpp"
#include "exchange/communicator.hpp"
#include "merge/accumulate.hpp"
#include "merge/divide.hpp"
#include "merge/roles.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// This rank's files in the second pass: whose threads they hold.
struct Share {
  struct File {
    std::string path;
    std::vector<std::uint32_t> roles;  ///< per thread
  };
  std::vector<File> files;
  std::uint32_t first_location = 0;
  std::uint32_t role_count = 0;
};

/// Collective: rank 0 tells every rank the roles of its threads.
Share deal_roles(exchange::Communicator& comm, const Division& division, const Roles& roles);

/// Second pass over the input: rereads this rank's files and accumulates their values, one thread at a time.
/// Not collective.
void accumulate_values(const Share& share, const cct::SharedTree& shared, ThreadAccumulation& accumulation,
                       ContextValues& by_context, const std::function<void()>& step);

}  // namespace culprit::merge
