#pragma once

#include "structure/structure.hpp"

#include <boost/serialization/access.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

/// Boost.Serialization of what recover() returns, for messages between ranks (never for files).
namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, culprit::structure::Procedure& p, unsigned /*version*/) {
  archive& p.name& p.linkage& p.low& p.high& p.file& p.line& p.source;
}

template <class Archive>
void serialize(Archive& archive, culprit::structure::Scope& s, unsigned /*version*/) {
  archive& s.kind& s.parent& s.name& s.file& s.line& s.call_file& s.call_line& s.address;
}

template <class Archive>
void serialize(Archive& archive, culprit::structure::Point& p, unsigned /*version*/) {
  archive& p.procedure& p.scope& p.file& p.line& p.callee;
}

template <class Archive>
void serialize(Archive& archive, culprit::structure::ModuleStructure& m, unsigned /*version*/) {
  archive& m.files& m.callees& m.procedures& m.scopes& m.points& m.notes;
}

}  // namespace boost::serialization
