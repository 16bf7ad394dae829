#include "structure/qualified_names.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include <dwarf.h>

namespace culprit::structure {
namespace {

/// An entry refers to its declaration in two steps at most; damaged ones might refer to each other.
constexpr int kMostReferences = 8;
/// Deeper nesting of named scopes is damaged information.
constexpr int kMostScopes = 64;

/// What a scope puts before the name of a member; nothing for an unnamed namespace, as users write it.
std::string prefix_of(Dwarf_Die scope, std::string_view member) {
  if (const char* name = dwarf_diename(&scope)) return std::string(name) + "::";
  if (dwarf_tag(&scope) == DW_TAG_namespace) return {};
  return member.starts_with("operator()") ? "{lambda}::" : "{unnamed}::";
}

}  // namespace

Dwarf_Die QualifiedNames::declaration_of(Dwarf_Die entry) {
  for (int i = 0; i < kMostReferences; ++i) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(&entry, DW_AT_abstract_origin, &attribute), &origin) == nullptr &&
        dwarf_formref_die(dwarf_attr(&entry, DW_AT_specification, &attribute), &origin) == nullptr)
      break;
    entry = origin;
  }
  return entry;
}

void QualifiedNames::enter(const Dwarf_Die& scope) {
  visit(scope);
  marks_.push_back({static_cast<const char*>(scope.addr) + 1, scopes_.size()});
  entered_.push_back(scopes_.size());
  scopes_.push_back(scope);
}

void QualifiedNames::leave() {
  entered_.pop_back();
  left_ = true;
}

void QualifiedNames::visit(const Dwarf_Die& entry) {
  if (!left_) return;
  left_ = false;
  marks_.push_back({entry.addr, entered_.empty() ? kOutermost : entered_.back()});
}

void QualifiedNames::sort() {
  std::ranges::stable_sort(marks_, std::less<>(), &Mark::from);
}

std::size_t QualifiedNames::around(const Dwarf_Die& declaration) const {
  const void* at = declaration.addr;
  const auto after = std::ranges::upper_bound(marks_, at, std::less<>(), &Mark::from);
  return after == marks_.begin() ? kOutermost : (after - 1)->scope;
}

std::string QualifiedNames::qualify(Dwarf_Die procedure, std::string name) const {
  std::size_t scope = around(declaration_of(procedure));
  for (int i = 0; scope != kOutermost && i < kMostScopes; ++i) {
    name.insert(0, prefix_of(scopes_[scope], name));
    scope = around(declaration_of(scopes_[scope]));
  }
  return name;
}

}  // namespace culprit::structure
