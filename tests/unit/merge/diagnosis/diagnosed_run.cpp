#include "diagnosed_run.hpp"

#include "exchange/threads.hpp"

using namespace culprit;
using database::ContextKind;
using database::kNone;

DiagnosedRun::DiagnosedRun() {
  shape.flat = {{},
                {.parent = 0, .kind = ContextKind::module},
                {.parent = 1, .kind = ContextKind::file},
                {.parent = 2, .kind = ContextKind::procedure},
                {.parent = 3, .kind = ContextKind::statement},
                {.parent = 3, .kind = ContextKind::statement}};
  shape.contexts = {{},
                    {.parent = 0},
                    {.parent = 1, .flat = 3, .kind = ContextKind::procedure},
                    {.parent = kProcedure, .flat = 4, .kind = ContextKind::statement},
                    {.parent = kProcedure, .flat = 5, .kind = ContextKind::statement}};
  shape.own = {0, 1, 2, 3, 4};
}

void DiagnosedRun::thread(std::uint64_t first_ns, std::uint64_t second_ns) {
  measurement::ThreadProfile& added = threads.emplace_back();
  for (const merge::Shape::Scope& scope : shape.contexts)
    added.nodes.push_back({.frame = {}, .parent = scope.parent});
  added.cell = {cct::kNoNode, cct::kNoNode, cct::kNoNode, 0, 1};
  for (const std::uint64_t ns : {first_ns, second_ns})
    added.cells.push_back({.time_ns = ns, .samples = 1, .weight_sq = 4});
}

void DiagnosedRun::analyse(int ranks, const Use& use) const {
  const merge::Plan plan(shape, std::vector<std::uint8_t>{0, 0, 0, 1, 1});
  const merge::Transfers no_transfers;
  exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
    merge::ThreadAccumulation accumulation(shape, plan, no_transfers, 1);
    measurement::Measurement file;
    file.process.host_load = host_load;
    accumulation.begin_process(file);
    database::TileRows rows(shape.contexts.size(), shape.columns.metrics());
    for (std::uint32_t t = 0; t < threads.size(); ++t) {
      if (static_cast<int>(t) % comm.size() != comm.rank()) continue;
      accumulation.add(threads[t], shape.own, t, 0);
      accumulation.list_exclusive(rows);
    }
    rows.arrange();
    if (rows.locations() != 0) accumulation.add_tile(rows);
    use(comm, accumulation);
  });
}
