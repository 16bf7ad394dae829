// Loops of random machine code against their definition, computed the slow way.
#include "structure/flow_graph.hpp"
#include "structure/loops.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <catch2/catch.hpp>
#include <elf.h>
#include <rapidcheck.h>
#include <unistd.h>

namespace loop_forest_test {

using namespace culprit::structure;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kBase = 0x1000;
constexpr std::size_t kBlock = 16;

/// How one block of code ends.
struct End {
  enum Kind : std::uint8_t { falls, jumps, branches, returns } kind = falls;
  std::size_t target = 0;
};

/// Blocks of sixteen bytes: no-operations, then the end.
std::string assemble(const std::vector<End>& ends) {
  std::string code;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto distance = static_cast<std::int32_t>(
        (static_cast<std::int64_t>(ends[i].target) - static_cast<std::int64_t>(i + 1)) *
        std::int64_t{kBlock});
    std::string end;
    if (ends[i].kind == End::jumps) end = "\xe9";
    if (ends[i].kind == End::branches) end = "\x0f\x84";
    if (ends[i].kind == End::returns) end = "\xc3";
    if (ends[i].kind == End::jumps || ends[i].kind == End::branches)
      end.append(reinterpret_cast<const char*>(&distance), sizeof distance);
    code += std::string(kBlock - end.size(), '\x90') + end;
  }
  return code;
}

/// The same of aarch64.
std::string assemble_aarch64(const std::vector<End>& ends) {
  constexpr std::uint32_t kNop = 0xd503201f, kReturn = 0xd65f03c0, kJump = 0x14000000,
                          kBranchIfEqual = 0x54000000;
  std::string code;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto distance = static_cast<std::uint32_t>(
        (static_cast<std::int64_t>(ends[i].target) - static_cast<std::int64_t>(i)) *
            std::int64_t{kBlock / 4} -
        3);
    std::uint32_t words[] = {kNop, kNop, kNop, kNop};
    if (ends[i].kind == End::jumps) words[3] = kJump | (distance & 0x3ffffffU);
    if (ends[i].kind == End::branches) words[3] = kBranchIfEqual | (distance & 0x7ffffU) << 5U;
    if (ends[i].kind == End::returns) words[3] = kReturn;
    code.append(reinterpret_cast<const char*>(words), sizeof words);
  }
  return code;
}

/// An executable that consists of the code and nothing else.
void write_elf(const fs::path& path, const std::string& code, std::uint16_t machine = EM_X86_64) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_offset = kBase;
  segment.p_vaddr = segment.p_paddr = kBase;
  segment.p_filesz = segment.p_memsz = code.size();
  segment.p_align = 0x1000;
  std::string bytes(kBase, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &segment, sizeof segment);
  bytes += code;
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

using Set = std::set<std::uint32_t>;

/// What can be reached from `starts` without entering `avoided`.
Set reach(const FlowGraph& graph, const Set& starts, std::uint32_t avoided) {
  Set seen;
  std::vector<std::uint32_t> open(starts.begin(), starts.end());
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    if (block == avoided || !seen.insert(block).second) continue;
    for (const std::uint32_t next : graph.blocks()[block].successors) open.push_back(next);
  }
  return seen;
}

/// header → blocks, from the definitions: t → h is a back edge if every way from a root to t passes h; a
/// block is in the loop of h if it leads to such a t without passing h.
std::map<std::uint32_t, Set> loops_by_definition(const FlowGraph& graph) {
  std::map<std::uint32_t, Set> loops;
  const Set roots(graph.roots().begin(), graph.roots().end());
  const auto count = static_cast<std::uint32_t>(graph.blocks().size());
  for (std::uint32_t header = 0; header < count; ++header) {
    const Set around = reach(graph, roots, header);
    for (std::uint32_t tail = 0; tail < count; ++tail) {
      const auto& next = graph.blocks()[tail].successors;
      if (around.contains(tail) || std::find(next.begin(), next.end(), header) == next.end()) continue;
      Set& loop = loops[header];
      loop.insert(header);
      for (std::uint32_t block = 0; block < count; ++block)
        if (block == tail || (block != header && reach(graph, {block}, header).contains(tail)))
          loop.insert(block);
    }
  }
  return loops;
}

FlowGraph graph_of(const fs::path& file, std::size_t blocks) {
  Request request;
  request.path = file;
  std::string why;
  const auto module = Module::open(request, why);
  RC_ASSERT(module != nullptr);
  FlowGraph::Surroundings none;
  none.never_returns = [](std::uint64_t) { return false; };
  none.jump_targets = [](std::span<const Instruction>, std::size_t) { return std::vector<std::uint64_t>{}; };
  return FlowGraph(Decoder(*module), {{kBase, kBase + blocks * kBlock}}, none);
}

bool is_same(const FlowGraph& a, const FlowGraph& b) {
  return std::ranges::equal(a.blocks(), b.blocks(), [](const FlowGraph::Block& x, const FlowGraph::Block& y) {
    return x.range.low == y.range.low && x.range.high == y.range.high && x.successors == y.successors &&
           x.branches == y.branches;
  });
}

void check_nesting(const LoopForest& forest) {
  for (const Loop& a : forest.loops)
    for (const Loop& b : forest.loops) {
      const Set one(a.blocks.begin(), a.blocks.end()), other(b.blocks.begin(), b.blocks.end());
      Set both;
      std::ranges::set_intersection(one, other, std::inserter(both, both.end()));
      RC_ASSERT(both.empty() || both == one || both == other);
    }
  for (std::uint32_t i = 0; i < forest.loops.size(); ++i) {
    const Loop& loop = forest.loops[i];
    if (loop.parent == kNone) continue;
    RC_ASSERT(loop.parent < i);
    const auto& around = forest.loops[loop.parent].blocks;
    RC_ASSERT(std::ranges::includes(around, loop.blocks));
  }
}

}  // namespace

TEST_CASE("natural loops are those of the definition, and every cycle lies in a loop") {
  const fs::path file = fs::temp_directory_path() / ("structure-loops-" + std::to_string(::getpid()));
  const bool holds = rc::check([&] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 24);
    const auto ends = *rc::gen::container<std::vector<End>>(
        count, rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange<std::size_t>(0, count)),
                            [](const std::pair<int, std::size_t>& p) {
                              const End::Kind kinds[] = {End::falls,    End::falls,    End::jumps,
                                                         End::branches, End::branches, End::branches,
                                                         End::branches, End::returns};
                              return End{kinds[p.first], p.second};
                            }));
    write_elf(file, assemble(ends));
    const FlowGraph graph = graph_of(file, count);
    write_elf(file, assemble_aarch64(ends), EM_AARCH64);
    RC_ASSERT(is_same(graph, graph_of(file, count)));
    const LoopForest forest = find_loops(graph);
    std::map<std::uint32_t, Set> natural;
    Set covered;
    for (const Loop& loop : forest.loops) {
      if (loop.natural) natural[loop.header] = Set(loop.blocks.begin(), loop.blocks.end());
      covered.insert(loop.blocks.begin(), loop.blocks.end());
    }
    RC_ASSERT(natural == loops_by_definition(graph));
    for (std::uint32_t block = 0; block < graph.blocks().size(); ++block) {
      const auto& next = graph.blocks()[block].successors;
      const bool cycles = reach(graph, Set(next.begin(), next.end()), kNone).contains(block);
      RC_ASSERT(!cycles || covered.contains(block));
    }
    check_nesting(forest);
  });
  fs::remove(file);
  CHECK(holds);
}

}  // namespace loop_forest_test
