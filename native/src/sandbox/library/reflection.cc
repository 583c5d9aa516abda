#include "sandbox/library/reflection.h"

namespace aana::sandbox {

namespace {

template <class Nth>
std::vector<Item> Collect(size_t count, const char* what, Nth nth) {
  if (count > kMaxItems)
    throw Refused("it has " + std::to_string(count) + " " + what + ", " + std::to_string(kMaxItems) + " are allowed");
  std::vector<Item> items;
  for (size_t i = 0; i < count; i++) {
    const char* name = nullptr;
    size_t length = 0;
    wasmtime_component_extern_t* found = nullptr;
    if (!nth(i, &name, &length, &found)) break;
    wasmtime_component_item_t item;
    wasmtime_component_extern_type(found, &item);
    std::string owned_name(name, length);
    wasmtime_component_extern_delete(found);
    items.emplace_back(std::move(owned_name), item);
  }
  return items;
}

}  // namespace

std::vector<Item> ImportsOf(const wasm_engine_t* engine, const wasmtime_component_t* component) {
  const ComponentTypePtr type(wasmtime_component_type(component));
  return Collect(wasmtime_component_type_import_count(type.get(), engine), "imports",
                 [&](size_t i, const char** name, size_t* length, wasmtime_component_extern_t** found) {
                   return wasmtime_component_type_import_nth(type.get(), engine, i, name, length, found);
                 });
}

std::vector<Item> ExportsOf(const wasm_engine_t* engine, const wasmtime_component_t* component) {
  const ComponentTypePtr type(wasmtime_component_type(component));
  return Collect(wasmtime_component_type_export_count(type.get(), engine), "exports",
                 [&](size_t i, const char** name, size_t* length, wasmtime_component_extern_t** found) {
                   return wasmtime_component_type_export_nth(type.get(), engine, i, name, length, found);
                 });
}

std::vector<Item> MembersOf(const wasm_engine_t* engine, const wasmtime_component_instance_type_t* instance) {
  return Collect(wasmtime_component_instance_type_export_count(instance, engine), "functions in an interface",
                 [&](size_t i, const char** name, size_t* length, wasmtime_component_extern_t** found) {
                   return wasmtime_component_instance_type_export_nth(instance, engine, i, name, length, found);
                 });
}

std::string WithoutVersion(const std::string& name) { return name.substr(0, name.find('@')); }

}  // namespace aana::sandbox
