#pragma once

namespace culprit::runtime {

/// Has a forked child become a process of its own, with a file of its own. In the constructor.
void follow_forks();

}  // namespace culprit::runtime
