#include "measurement/live_image.hpp"

#include "measurement/reading.hpp"
#include "measurement/record_checksums.hpp"

#include <algorithm>

namespace culprit::measurement {
namespace {

constexpr std::uint64_t kMaxArena = std::uint64_t{1} << 30;  // far above any reservation of a writer

void keep_sequence(std::vector<Block>& blocks) {
  std::ranges::stable_sort(blocks, {}, &Block::sequence);
  const auto alike = [](const Block& a, const Block& b) { return a.sequence == b.sequence; };
  blocks.erase(std::unique(blocks.begin(), blocks.end(), alike), blocks.end());
  std::uint32_t expected = 0;
  std::uint64_t total = 0;
  std::size_t good = 0;
  for (const Block& block : blocks) {
    total += block.size;
    if (block.sequence != expected++ || total > kMaxArena) break;
    ++good;
    if (block.available < block.size) break;
  }
  blocks.resize(good);
}

}  // namespace

BlockMap find_blocks(InputFile& file) {
  BlockMap found;
  std::uint64_t offset = layout::kGranule;
  while (offset + sizeof(layout::BlockHeader) <= file.size()) {
    layout::BlockHeader header{};
    std::memcpy(&header, file.view(offset, sizeof header).data(), sizeof header);
    const std::uint64_t left = file.size() - offset;
    if (header.magic == 0) {  // a file may claim any length: what was never written is passed over at once
      offset += layout::kGranule;
      offset = std::max(offset, file.next_data(offset) / layout::kGranule * layout::kGranule);
      continue;
    }
    if (header.magic != layout::kBlockMagic || header.checksum != layout::block_checksum(header) ||
        header.size == 0 || header.size % layout::kGranule != 0) {
      throw damaged(file.path(), "the header of a block is wrong");
    }
    const Block block{.sequence = header.sequence,
                      .offset = offset,
                      .size = header.size,
                      .available = std::min(header.size, left)};
    if (header.type == static_cast<std::uint32_t>(layout::BlockType::modules) && header.index == 0) {
      found.modules.push_back(block);
    } else if (header.type == static_cast<std::uint32_t>(layout::BlockType::calls) && header.index == 0) {
      found.calls.push_back(block);
    } else if (header.type == static_cast<std::uint32_t>(layout::BlockType::thread)) {
      found.threads[header.index].push_back(block);
    }
    if (header.size >= left) break;
    offset += header.size;
  }
  keep_sequence(found.modules);
  keep_sequence(found.calls);
  for (auto& [index, blocks] : found.threads) keep_sequence(blocks);
  return found;
}

void ArenaImage::fill(const InputFile& file, std::span<const Block> blocks, std::uint64_t most) {
  std::uint64_t total = 0;
  for (const Block& block : blocks) total += block.available;
  total = std::min(total, most) / layout::kUnit * layout::kUnit;
  if (total > capacity_ || bytes_ == nullptr) {
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(total));
    capacity_ = total;
  }
  std::uint64_t filled = 0;
  for (const Block& block : blocks) {
    const auto part = static_cast<std::size_t>(std::min(block.available, total - filled));
    file.copy(block.offset, bytes_.get() + filled, part);
    filled += part;
  }
  units_ = static_cast<std::uint32_t>(total / layout::kUnit);
}

}  // namespace culprit::measurement
