#pragma once

namespace culprit::metrics {

// To the seven digits of a float: the further ones depend on the processor's long double, in which they are
// computed.

/// What a standard normal number is below with this probability.
double normal_quantile(double probability);

/// The same for a chi-squared number of this many degrees of freedom.
double chi_squared_quantile(double degrees, double probability);

}  // namespace culprit::metrics
