// Threads one by one, and tile by tile (docs/algorithms.md 2): each thread's values (thread_values.cpp), then
// rows of a tile's threads, which are summed up the tree together (tile_sums.cpp). One-sided accumulators and
// stamps are listed with the idleness of their frames (run_facts.cpp).
#include "merge/values/accumulate.hpp"

namespace culprit::merge {

ThreadAccumulation::ThreadAccumulation(const Shape& shape, const Plan& plan, const Transfers& transfers,
                                       std::size_t roles, const TraceValues* traced)
    : shape_(shape),
      plan_(plan),
      values_(shape, plan, transfers, traced, run_),
      waits_(shape, plan, run_),
      sums_(shape, plan),
      roles_(2 * roles) {}

RoleSums& ThreadAccumulation::role_sums(std::uint32_t number) {
  RoleSums& role = roles_[number];
  if (role.used()) return role;
  const std::size_t metrics = shape_.columns.metrics();
  role.inclusive.resize(plan_.groups() * metrics);
  role.exclusive.resize(plan_.exclusive_rows * metrics);
  role.flat_inclusive.resize(shape_.flat.size() * metrics);
  role.flat_exclusive.resize(shape_.flat.size() * metrics);
  role.weight_sq.resize(plan_.groups());
  role.covered.resize(plan_.groups());
  role.blocked.resize(plan_.groups());
  return role;
}

void ThreadAccumulation::add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             std::uint32_t location, std::uint32_t sums_number) {
  if (sums_of_.empty()) first_location_ = location;
  sums_of_.push_back(sums_number);
  values_.record(thread, united, location, role_sums(sums_number));
  waits_.add_epochs(thread, united, location, values_.rank());
  waits_.add_gaps(thread, united, sums_number % static_cast<std::uint32_t>(roles_.size() / 2));
}

void ThreadAccumulation::list_exclusive(database::TileRows& rows) {
  rows.add_location();
  rows.add_rows(values_.contexts(), values_.values());
}

void ThreadAccumulation::add_tile(const database::TileRows& rows) {
  sums_.add(rows, sums_of_, roles_, waits_.watched());
  waits_.add_tile(first_location_, rows.locations());
  sums_of_.clear();
}

}  // namespace culprit::merge
