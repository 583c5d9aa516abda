#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sandbox/library/owned.h"

namespace aana::sandbox {

// An import or export of a component or of an instance, which is released with its owner.
class Item {
 public:
  Item(std::string name, wasmtime_component_item_t item) : name_(std::move(name)), item_(item) {}
  ~Item() { wasmtime_component_item_delete(&item_); }
  Item(Item&& other) noexcept : name_(std::move(other.name_)), item_(std::exchange(other.item_, kNothing)) {}
  Item(const Item&) = delete;
  Item& operator=(const Item&) = delete;

  const std::string& name() const { return name_; }
  uint8_t kind() const { return item_.kind; }
  const wasmtime_component_instance_type_t* instance() const { return item_.of.instance; }
  const wasmtime_component_func_type_t* function() const { return item_.of.func; }
  const wasmtime_component_resource_type_t* resource() const { return item_.of.resource; }

 private:
  // A type of booleans, which owns nothing.
  static constexpr wasmtime_component_item_t kNothing{kItemType, {.type = {kBool, {}}}};

  std::string name_;
  wasmtime_component_item_t item_;
};

// Most imports, exports, and members of an instance. A description of more would not help anybody.
inline constexpr size_t kMaxItems = 1'000;

// The imports or exports of a component, and the exports of an instance. They throw `Refused` for more than
// `kMaxItems`.
std::vector<Item> ImportsOf(const wasm_engine_t* engine, const wasmtime_component_t* component);
std::vector<Item> ExportsOf(const wasm_engine_t* engine, const wasmtime_component_t* component);
std::vector<Item> MembersOf(const wasm_engine_t* engine, const wasmtime_component_instance_type_t* instance);

// `wasi:io/streams` of `wasi:io/streams@0.2.3`.
std::string WithoutVersion(const std::string& name);

}  // namespace aana::sandbox
