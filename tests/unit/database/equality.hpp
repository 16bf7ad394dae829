#pragma once

#include "database/database.hpp"

namespace culprit::database {

/// Whether two experiments are equal in every field.
bool equal(const Experiment& a, const Experiment& b);
bool equal(const std::vector<Value>& a, const std::vector<Value>& b);

}  // namespace culprit::database
