#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/library/owned.h"

namespace aana::sandbox {

// A type of component values. Its kind is that of values (`Kind`), or `kOwn` or `kBorrow`.
struct Type {
  uint8_t kind = kBool;
  uint32_t resource = 0;                // the number of a resource type, from 1 on
  std::vector<std::string> names;       // of fields, cases and flags
  std::vector<std::optional<Type>> of;  // of elements; without a type for a case that has no value
};

struct FunctionType {
  bool is_async = false;
  std::vector<std::string> names;
  std::vector<Type> params;
  std::optional<Type> result;
};

// The resource types of a component, which reflected types are compared with. Their numbers begin at 1. A resource that
// an interface takes from another one is the same.
class ResourceTypes {
 public:
  // Returns the number of a type. A new one gets the next number and `name`.
  uint32_t Add(const wasmtime_component_resource_type_t* type, const std::string& name);
  // Returns 0 for a type that was not added.
  uint32_t Find(const wasmtime_component_resource_type_t* type) const;
  const std::string& name(uint32_t number) const { return known_.at(number - 1).name; }
  size_t size() const { return known_.size(); }

 private:
  struct Known {
    ResourceTypePtr type;
    std::string name;
  };
  std::vector<Known> known_;
};

// Reads the type of a function. Throws `Refused` for types that the host cannot pass: futures, streams, unknown
// resources, options of options, and types of more than 20,000 parts.
FunctionType ReadFunctionType(const wasmtime_component_func_type_t* type, const ResourceTypes& resources);

// A type in WIT's words, without names of types: `func(name: string) -> result<u32, enum{a, b}>`. Equal types have
// equal texts.
std::string TextOf(const FunctionType& type, const ResourceTypes& resources);

}  // namespace aana::sandbox
