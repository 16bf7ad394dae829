// What culprit.h finds in a measured process.
#include "interface/culprit.h"
#include "runtime/control.hpp"
#include "runtime/export.hpp"

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
    .region_begin = nullptr,
    .region_end = nullptr,
    .iteration = nullptr,
    .region_begin_outside = nullptr,
    .region_end_outside = nullptr,
};
