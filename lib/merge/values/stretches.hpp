#pragma once

#include "measurement/measurement.hpp"

#include <cstdint>
#include <span>
#include <vector>

// Samples divide what stamps show exactly (docs/algorithms.md 5.7).
namespace culprit::merge {

/// What the stamps of a thread's stretches make of its samples. Keeps its memory from one thread to the next.
/// Not thread-safe.
class Calibration {
 public:
  /// A waiting call that no sample met: all its time, at the node where it ended.
  struct Unsampled {
    cct::NodeId node;
    std::uint64_t ns;
  };
  /// Samples of one gap, or of several that were sampled too rarely, at one node.
  struct Sampled {
    cct::NodeId node;
    std::uint32_t gap;  ///< index into gaps()
    std::uint64_t ns;
  };
  /// A gap whose whole length is known, or several.
  struct Gap {
    std::uint64_t sampled_ns = 0;
    std::uint64_t weight_sq = 0;  ///< of its samples
  };

  /// Of samples `period_ns` apart; 0: nothing is calibrated. `open`: the thread's last stretch may have no
  /// stamps, as its process was killed or runs on. What is returned refers to `thread`, which must outlive
  /// it.
  void calibrate(const measurement::ThreadProfile& thread, std::uint64_t period_ns, bool open = false);

  /// As the thread's, with times that add up to the stretches' lengths.
  [[nodiscard]] std::span<const measurement::Cell> cells() const { return cells_; }
  [[nodiscard]] std::span<const Unsampled> unsampled() const { return unsampled_; }
  [[nodiscard]] std::span<const Sampled> sampled() const { return sampled_; }
  [[nodiscard]] std::span<const Gap> gaps() const { return gaps_; }

 private:
  /// Stretches of one kind: their length by stamps and by samples.
  struct Stratum {
    cct::NodeId node = 0;  ///< the call, or the call before the gap
    bool gap = false;
    std::uint64_t known_ns = 0, sampled_ns = 0, weight_sq = 0;
    std::uint64_t beside_ns = 0, beside_weight_sq = 0;  ///< of a gap: of the samples, those beside its calls
    double scale = 1;
    bool leaves_out = false;      ///< those beside its calls
    std::uint32_t exact_gap = 0;  ///< index into gaps_, kNone: its length is not known, or it is no gap
  };
  /// What one cell has of one stratum.
  struct Piece {
    std::uint32_t cell;
    cct::NodeId node;
    std::uint32_t stratum;  ///< kNone: of none
    std::uint64_t ns, weight_sq, blocked;
    bool beside;  ///< a call: taken in its wrapper, before or after it, and so in a gap
  };

  void find_strata(const measurement::ThreadProfile& thread);
  void find_samples_calls(const measurement::ThreadProfile& thread);
  void find_pieces(const measurement::ThreadProfile& thread);
  void add_piece(std::uint32_t cell, cct::NodeId node, measurement::Stretch stretch, std::uint64_t ns,
                 std::uint64_t weight_sq, std::uint64_t blocked);
  void add_open_stretch();
  void join(std::uint32_t stratum, std::uint32_t into);
  void join_rare(std::uint64_t period_ns);
  void find_scales(std::uint64_t period_ns);
  void scale_cells();

  std::vector<Stratum> strata_;
  std::vector<std::uint32_t> call_of_, gap_of_;  ///< by node: strata
  std::vector<measurement::Epoch> apart_;        ///< by node: samples in others than their cell's stretch
  std::vector<Piece> pieces_;                    ///< by cell
  std::vector<std::uint32_t> joined_;  ///< by stratum: the one that it is part of, itself, kNone: in doubt
  std::vector<measurement::Cell> copies_;
  std::span<const measurement::Cell> cells_;
  std::vector<Unsampled> unsampled_;
  std::vector<Sampled> sampled_;
  std::vector<Gap> gaps_;
};

}  // namespace culprit::merge
