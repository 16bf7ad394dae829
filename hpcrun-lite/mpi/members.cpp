// Finds the ranks in MPI_COMM_WORLD of a group's members. Open MPI looks for each rank among all members of
// the other group, one by one: to translate half of 100 000 ranks took seconds. So ranks are guessed to go on
// as the last two did, and some at a time are checked against a group of just these. Cost: linear where the
// members are strided runs of ranks.
#include "mpi/members.hpp"

#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"

#include <algorithm>
#include <atomic>

namespace culprit::mpi {
namespace {

/// Ranks that are guessed, and checked, at a time.
constexpr int kPiece = 64;

void translate_all(MPI_Group group, int first, int count, int* ranks) {
  int own[kPiece];
  for (int i = 0; i < count; ++i) own[i] = first + i;
  CULPRIT_MPI(PMPI_Group_translate_ranks)(group, count, own, world_group(), ranks);
  for (int i = 0; i < count; ++i) ranks[i] = std::max(ranks[i], -1);
}

/// True where members first, first + 1, … have the world's ranks start, start + stride, …
bool is_run(MPI_Group group, int first, int count, int start, int stride, int world_size) {
  const int last = start + (count - 1) * stride;
  if (stride == 0 || start < 0 || last < 0 || start >= world_size || last >= world_size) return false;
  MPI_Group guess;
  int range[1][3] = {{start, last, stride}};
  if (CULPRIT_MPI(PMPI_Group_range_incl)(world_group(), 1, range, &guess) != MPI_SUCCESS) return false;
  int own[kPiece];
  int found[kPiece];
  for (int i = 0; i < count; ++i) own[i] = first + i;
  CULPRIT_MPI(PMPI_Group_translate_ranks)(group, count, own, guess, found);
  CULPRIT_MPI(PMPI_Group_free)(&guess);
  for (int i = 0; i < count; ++i) {
    if (found[i] != i) return false;
  }
  return true;
}

}  // namespace

MPI_Group world_group() {
  static std::atomic<bool> known{false};
  static std::atomic<MPI_Group> group;
  if (!known.load(std::memory_order_acquire)) {
    MPI_Group own;
    CULPRIT_MPI(PMPI_Comm_group)(world(), &own);
    group.store(own, std::memory_order_relaxed);
    known.store(true, std::memory_order_release);
  }
  return group.load(std::memory_order_relaxed);
}

int translate(MPI_Group from, int rank, MPI_Group to) {
  int other = -1;
  CULPRIT_MPI(PMPI_Group_translate_ranks)(from, 1, &rank, to, &other);
  return other;
}

void world_ranks(MPI_Group group, int size, int* ranks) {
  int world_size = 0;
  CULPRIT_MPI(PMPI_Group_size)(world_group(), &world_size);
  int known = std::min(size, 2);
  if (known > 0) translate_all(group, 0, known, ranks);
  while (known < size) {
    const int count = std::min(kPiece, size - known);
    const int last = ranks[known - 1];
    const int stride = last - ranks[known - 2];
    if (last >= 0 && is_run(group, known, count, last + stride, stride, world_size)) {
      for (int i = 0; i < count; ++i) ranks[known + i] = last + (i + 1) * stride;
    } else {
      translate_all(group, known, count, ranks + known);
    }
    known += count;
  }
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
  // Not `hash ^ number`: two small numbers that are equal would cancel each other out.
  hash = (hash * 0x94d049bb133111ebU + number) * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9U;
  return hash ^ hash >> 32;
}

std::uint64_t hash_of(const int* ranks, int size) {
  std::uint64_t hash = static_cast<std::uint64_t>(size) + 1;
  for (int i = 0; i < size; ++i) hash = mixed(hash, static_cast<std::uint64_t>(ranks[i]) + 2);
  return hash;
}

}  // namespace culprit::mpi
