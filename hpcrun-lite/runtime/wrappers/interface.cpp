// What culprit.h finds in a measured process.
#include "interface/culprit.h"
#include "runtime/recording/regions.hpp"
#include "runtime/sampling/start_stop.hpp"
#include "runtime/system/export.hpp"
#include "runtime/wrappers/traced_calls.hpp"

#include <cstddef>

extern "C" {
/// Found by name, by whatever version of the header: members are only ever added, at the end.
// NOLINTNEXTLINE(misc-use-internal-linkage)
extern __attribute__((visibility("default"))) const culprit_interface culprit_rt_interface;
}

constinit const culprit_interface culprit_rt_interface = {
    .size = sizeof(culprit_interface),
    .start = culprit::runtime::start_sampling,
    .stop = culprit::runtime::stop_sampling,
    .region_begin = culprit::runtime::begin_region,
    .region_end = culprit::runtime::end_region,
    .iteration = culprit::runtime::mark_iteration,
    .region_begin_outside = culprit::runtime::begin_region_outside,
    .region_end_outside = culprit::runtime::end_region_outside,
};
