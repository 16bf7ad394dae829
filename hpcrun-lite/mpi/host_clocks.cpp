// Compares the hosts' clocks (docs/algorithms.md 11): along a binomial tree of hosts each asks its parent the
// time, and the fastest answer counts.
#include "mpi/host_clocks.hpp"

#include "measurement/trace_operation.hpp"
#include "mpi/members.hpp"
#include "mpi/occurrence.hpp"
#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"
#include "runtime/api.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

namespace culprit::mpi {
namespace {

using measurement::trace::ClockPair;

// Exchanges per pair of hosts: this many, and more while even the fastest took longer than any network does
// (processes that share processors), but not for ever.
constexpr int kFewExchanges = 32;
constexpr int kMostExchanges = 512;
constexpr std::uint64_t kFast = 100'000;          ///< ns
constexpr std::uint64_t kPatience = 500'000'000;  ///< ns
constexpr int kTag = 0;                           ///< on a communicator of our own
constexpr std::size_t kMostText = 256;

/// What one process learns from its parent in the tree, and passes on to its host.
struct Comparison {
  std::uint64_t own_ns;        ///< this host's clock
  std::uint64_t reference_ns;  ///< the reference's at that moment
  std::uint64_t round_trip_ns;
};
constexpr int kNumbers = sizeof(Comparison) / sizeof(std::uint64_t);

std::atomic<std::uint64_t> own_host{0};  // 0: not known yet
bool several_hosts = false;

/// Of the bytes of a file or, failing that, of nothing.
std::uint64_t hash_of_file(const char* path) {
  char text[kMostText];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text);
  if (file >= 0) close(file);
  std::uint64_t hash = 0;
  for (ssize_t i = 0; i < size; ++i) hash = mixed(hash, static_cast<unsigned char>(text[i]));
  return hash;
}

/// Whoever shares CLOCK_MONOTONIC: the same boot of the same kernel, and the same time namespace.
std::uint64_t host_id() {
  char text[kMostText] = "";
  if (readlink("/proc/self/ns/time", text, sizeof text - 1) < 0) text[0] = '\0';
  std::uint64_t hash = hash_of_file("/proc/sys/kernel/random/boot_id");
  if (hash == 0) {
    char name[kMostText] = "";
    gethostname(name, sizeof name - 1);
    for (const char* c = name; *c != '\0'; ++c) hash = mixed(hash, static_cast<unsigned char>(*c));
  }
  for (const char* c = text; *c != '\0'; ++c) hash = mixed(hash, static_cast<unsigned char>(*c));
  return hash;
}

void set_wrong_clock(int rank) {
  const char* wanted = getenv("CULPRIT_WRONG_CLOCKS");
  int hosts = 0;
  long long ahead = 0;
  long long fast = 0;
  if (wanted == nullptr || sscanf(wanted, "%d,%lld,%lld", &hosts, &ahead, &fast) != 3 || hosts < 1) return;
  const int host = rank % hosts;
  own_host = mixed(own_host.load(), static_cast<std::uint64_t>(host));
  wrong_clock = {
      .set = host != 0, .ahead_ns = host * ahead, .fast_ppb = host * fast, .since_ns = host_time()};
}

/// By how much the reference's clock is ahead of ours.
std::int64_t ahead(const Comparison& comparison) {
  return static_cast<std::int64_t>(comparison.reference_ns - comparison.own_ns);
}

Comparison ask(MPI_Comm hosts, int parent) {
  Comparison best{.own_ns = 0, .reference_ns = 0, .round_trip_ns = ~std::uint64_t{0}};
  const std::uint64_t begun = host_time();
  std::uint64_t more = 1;
  for (int i = 1; more != 0; ++i) {
    const std::uint64_t asked = host_time();
    const bool slow = best.round_trip_ns > kFast && asked - begun < kPatience && i < kMostExchanges;
    more = i < kFewExchanges || slow ? 1 : 0;
    std::uint64_t answer = 0;
    CULPRIT_MPI(PMPI_Send)(&more, 1, counts(), parent, kTag, hosts);
    CULPRIT_MPI(PMPI_Recv)(&answer, 1, counts(), parent, kTag, hosts, MPI_STATUS_IGNORE);
    const std::uint64_t round_trip = host_time() - asked;
    if (round_trip < best.round_trip_ns)
      best = {.own_ns = asked + round_trip / 2, .reference_ns = answer, .round_trip_ns = round_trip};
  }
  Comparison above{};
  CULPRIT_MPI(PMPI_Recv)(&above, kNumbers, counts(), parent, kTag, hosts, MPI_STATUS_IGNORE);
  best.reference_ns += static_cast<std::uint64_t>(ahead(above));
  best.round_trip_ns += above.round_trip_ns;
  return best;
}

void answer(MPI_Comm hosts, int child, const Comparison& own) {
  std::uint64_t more = 1;
  while (more != 0) {
    CULPRIT_MPI(PMPI_Recv)(&more, 1, counts(), child, kTag, hosts, MPI_STATUS_IGNORE);
    const std::uint64_t now = host_time();
    CULPRIT_MPI(PMPI_Send)(&now, 1, counts(), child, kTag, hosts);
  }
  CULPRIT_MPI(PMPI_Send)(&own, kNumbers, counts(), child, kTag, hosts);
}

/// One process of each host: first from the parent (whose number has one bit less), then to the children.
Comparison compare(MPI_Comm hosts) {
  int rank = 0;
  int size = 0;
  CULPRIT_MPI(PMPI_Comm_rank)(hosts, &rank);
  CULPRIT_MPI(PMPI_Comm_size)(hosts, &size);
  int bit = 1;
  while (bit < size && (rank & bit) == 0) bit *= 2;
  const std::uint64_t now = host_time();
  Comparison own{.own_ns = now, .reference_ns = now, .round_trip_ns = 0};
  if (rank != 0) own = ask(hosts, rank - bit);
  for (bit /= 2; bit > 0; bit /= 2) {
    if (rank + bit < size) answer(hosts, rank + bit, own);
  }
  return own;
}

/// The processes of a host; colours have 31 bits, and host ids 64.
MPI_Comm split_by_host(int rank) {
  constexpr std::uint64_t kColor = 0x7fffffff;
  MPI_Comm half;
  MPI_Comm host;
  CULPRIT_MPI(PMPI_Comm_split)(world(), static_cast<int>(this_host() & kColor), rank, &half);
  CULPRIT_MPI(PMPI_Comm_split)(half, static_cast<int>(this_host() >> 32 & kColor), rank, &host);
  CULPRIT_MPI(PMPI_Comm_free)(&half);
  return host;
}

void compare_clocks() {
  int rank = 0;
  int place = 0;
  CULPRIT_MPI(PMPI_Comm_rank)(world(), &rank);
  MPI_Comm host = split_by_host(rank);
  CULPRIT_MPI(PMPI_Comm_rank)(host, &place);
  MPI_Comm hosts;
  CULPRIT_MPI(PMPI_Comm_split)(world(), place == 0 ? 0 : MPI_UNDEFINED, rank, &hosts);
  Comparison comparison{};
  if (place == 0) {
    comparison = compare(hosts);
    CULPRIT_MPI(PMPI_Comm_free)(&hosts);
  }
  CULPRIT_MPI(PMPI_Bcast)(&comparison, kNumbers, counts(), 0, host);
  CULPRIT_MPI(PMPI_Comm_free)(&host);
  ClockPair pair;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  pair.monotonic_ns = comparison.own_ns;
  pair.realtime_ns = static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  pair.reference = 0;
  pair.reference_ns = comparison.reference_ns;
  pair.round_trip_ns = comparison.round_trip_ns;
  culprit_rt_trace_clock(&pair);
}

}  // namespace

std::uint64_t this_host() {
  if (own_host == 0) {
    int rank = 0;
    CULPRIT_MPI(PMPI_Comm_rank)(world(), &rank);
    own_host = host_id();
    set_wrong_clock(rank);
  }
  return own_host;
}

void compare_clocks_at_start() {
  const std::uint64_t host = this_host();
  const std::uint64_t mine[] = {host, ~host};
  std::uint64_t largest[] = {host, ~host};
  CULPRIT_MPI(PMPI_Allreduce)(mine, largest, 2, counts(), maximum(), world());
  several_hosts = largest[0] != ~largest[1];
  if (several_hosts) compare_clocks();
}

void compare_clocks_at_end() {
  if (several_hosts) compare_clocks();
}

}  // namespace culprit::mpi
