#pragma once

#include "exchange/communicator.hpp"

#include <filesystem>
#include <functional>
#include <memory>

namespace culprit::exchange {

/// Collective: lets rank 0 create the file, then every other rank open it. `open(create)` returns 0 or an
/// errno. Throws files::WriteFailure on every rank if it failed on one.
void open_together(Communicator& comm, const std::filesystem::path& path,
                   const std::function<int(bool create)>& open);

/// Collective: a file that did not exist, which every rank writes with pwrite. `comm` must outlive it.
std::unique_ptr<OutputFile> create_shared_file(Communicator& comm, const std::filesystem::path& path);

}  // namespace culprit::exchange
