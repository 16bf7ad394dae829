// Basic blocks and edges of one procedure (docs/algorithms.md 15): instructions are cut at targets of
// branches and jump tables, behind branches and behind calls that never return; exception handlers are
// reached from the calls that may throw into them. Blocks that no known edge reaches become further roots,
// and their edges into what was reached are left out, so that they cannot hide a loop. Cost: linear in
// instructions but for binary searches of targets.
#include "structure/flow_graph.hpp"

#include <algorithm>

namespace culprit::structure {

using Flow = Instruction::Flow;

FlowGraph::FlowGraph(const Decoder& decoder, std::vector<Range> ranges, const Surroundings& surroundings) {
  if (ranges.empty()) return;
  const std::uint64_t entry = ranges.front().low;
  std::ranges::sort(ranges, {}, &Range::low);
  std::uint64_t done = 0;
  for (Range range : ranges) {
    range.low = std::max(range.low, done);
    if (range.low >= range.high) continue;
    const std::vector<Instruction> part = decoder.decode(range);
    instructions_.insert(instructions_.end(), part.begin(), part.end());
    done = range.high;
  }
  // An instruction that hangs over the end of its range must not overlap the next one.
  const auto overlaps = [](const Instruction& a, const Instruction& b) { return a.end() > b.address; };
  for (auto at = instructions_.begin();
       (at = std::adjacent_find(at, instructions_.end(), overlaps)) != instructions_.end(); ++at)
    at->length = static_cast<std::uint8_t>((at + 1)->address - at->address);
  if (instructions_.empty()) return;
  find_targets(surroundings);
  cut_blocks(surroundings);
  link(surroundings);
  link_unreached(entry);
}

std::uint32_t FlowGraph::instruction_at(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(instructions_, address, {}, &Instruction::address);
  if (found == instructions_.end() || found->address != address) return kNone;
  return static_cast<std::uint32_t>(found - instructions_.begin());
}

std::uint32_t FlowGraph::block_at(std::uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(blocks_, address, {}, [](const Block& block) { return block.range.low; });
  if (after == blocks_.begin() || !(after - 1)->range.contains(address)) return kNone;
  return static_cast<std::uint32_t>(after - blocks_.begin()) - 1;
}

void FlowGraph::find_targets(const Surroundings& surroundings) {
  stops_.assign(instructions_.size(), false);
  for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    if (instruction.flow == Flow::computed)
      computed_.emplace_back(i, surroundings.jump_targets(instructions_, i));
    if (instruction.flow == Flow::call && instruction.target != 0)
      stops_[i] = surroundings.never_returns(instruction.target);
  }
}

void FlowGraph::cut_blocks(const Surroundings& surroundings) {
  std::vector<bool> leads(instructions_.size() + 1, false);
  const auto mark = [&](std::uint64_t address) {
    const std::uint32_t index = instruction_at(address);
    if (index != kNone) leads[index] = true;
  };
  leads[0] = true;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    const bool gap = i + 1 < instructions_.size() && instructions_[i + 1].address != instruction.end();
    const bool ends = instruction.flow != Flow::next && instruction.flow != Flow::call;
    if (ends || stops_[i] || gap) leads[i + 1] = true;
    if (instruction.flow == Flow::branch || instruction.flow == Flow::jump) mark(instruction.target);
  }
  for (const auto& [from, targets] : computed_) std::ranges::for_each(targets, mark);
  for (const Handler& handler : surroundings.handlers) mark(handler.address);
  for (std::uint32_t i = 0; i < instructions_.size();) {
    std::uint32_t last = i;
    while (last + 1 < instructions_.size() && !leads[last + 1]) ++last;
    Block block;
    block.range = {instructions_[i].address, instructions_[last].end()};
    block.first = i;
    block.last = last;
    block.branches = instructions_[last].flow == Flow::branch;
    blocks_.push_back(std::move(block));
    i = last + 1;
  }
}

void FlowGraph::link(const Surroundings& surroundings) {
  const auto connect = [this](Block& from, std::uint64_t address) {
    const std::uint32_t to = block_at(address);
    if (to != kNone && blocks_[to].range.low == address) from.successors.push_back(to);
  };
  for (Block& block : blocks_) {
    const Instruction& last = instructions_[block.last];
    if (last.flow == Flow::branch || last.flow == Flow::jump) connect(block, last.target);
    const bool falls = last.flow == Flow::next || last.flow == Flow::call || last.flow == Flow::branch;
    if (falls && !stops_[block.last]) connect(block, last.end());
  }
  for (const auto& [from, targets] : computed_) {
    const std::uint32_t block = block_at(instructions_[from].address);
    for (const std::uint64_t target : targets) connect(blocks_[block], target);
  }
  for (const Handler& handler : surroundings.handlers) {
    const auto first = std::ranges::lower_bound(instructions_, handler.calls.low, {}, &Instruction::address);
    for (auto at = first; at != instructions_.end() && at->address < handler.calls.high; ++at)
      if (at->flow == Flow::call) connect(blocks_[block_at(at->address)], handler.address);
  }
  for (Block& block : blocks_) {
    std::ranges::sort(block.successors);
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                           block.successors.end());
  }
}

void FlowGraph::reach(std::uint32_t from, std::vector<bool>& reached) const {
  std::vector<std::uint32_t> open{from};
  reached[from] = true;
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    for (const std::uint32_t next : blocks_[block].successors) {
      if (reached[next]) continue;
      reached[next] = true;
      open.push_back(next);
    }
  }
}

void FlowGraph::link_unreached(std::uint64_t entry) {
  std::vector<bool> reached(blocks_.size(), false);
  const std::uint32_t start = block_at(entry) == kNone ? 0 : block_at(entry);
  roots_.push_back(start);
  reach(start, reached);
  // A computed jump whose targets are unknown most likely leads to the code that nothing else leads to.
  std::uint32_t unexplained = kNone;
  for (const auto& [from, targets] : computed_) {
    const std::uint32_t block = block_at(instructions_[from].address);
    if (targets.empty() && reached[block] && unexplained == kNone) unexplained = block;
  }
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    if (reached[i]) continue;
    if (unexplained != kNone) {
      blocks_[unexplained].successors.push_back(i);
    } else {
      roots_.push_back(i);
    }
    const std::vector<bool> before = reached;
    reach(i, reached);
    if (unexplained != kNone) continue;
    for (std::uint32_t j = i; j < blocks_.size(); ++j)
      if (reached[j] && !before[j])
        std::erase_if(blocks_[j].successors, [&](std::uint32_t next) { return before[next]; });
  }
  if (unexplained != kNone) std::ranges::sort(blocks_[unexplained].successors);
}

}  // namespace culprit::structure
