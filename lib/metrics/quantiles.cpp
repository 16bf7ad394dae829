#include "metrics/quantiles.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>

namespace culprit::metrics {

double normal_quantile(double probability) {
  return static_cast<float>(boost::math::quantile(boost::math::normal(), probability));
}

double chi_squared_quantile(double degrees, double probability) {
  return static_cast<float>(boost::math::quantile(boost::math::chi_squared(degrees), probability));
}

}  // namespace culprit::metrics
