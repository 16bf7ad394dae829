#include "views/source.hpp"

namespace culprit::views {

DatabaseSource::DatabaseSource(const std::filesystem::path& path) : path_(path), reader_(path) {}

const database::Contents& DatabaseSource::experiment() const {
  return reader_.experiment();
}

std::vector<database::Value> DatabaseSource::profile_values(std::uint32_t location) const {
  return reader_.profile_values(location);
}

std::vector<std::uint64_t> DatabaseSource::inclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const {
  return reader_.inclusive_values(contexts, metric);
}

std::vector<std::uint64_t> DatabaseSource::exclusive_values(std::span<const database::ContextId> contexts,
                                                            std::uint32_t metric) const {
  return reader_.exclusive_values(contexts, metric);
}

std::optional<std::vector<std::uint64_t>> DatabaseSource::flat_exclusive_values(database::FlatId scope,
                                                                                std::uint32_t metric) const {
  return reader_.flat_exclusive_values(scope, metric);
}

}  // namespace culprit::views
