#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "sandbox/library/wasmtime.h"

namespace aana::sandbox {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* owned) const noexcept {
    Free(owned);
  }
};

using EnginePtr = std::unique_ptr<wasm_engine_t, Deleter<wasm_engine_delete>>;
using ComponentPtr = std::unique_ptr<wasmtime_component_t, Deleter<wasmtime_component_delete>>;
using ComponentTypePtr = std::unique_ptr<wasmtime_component_type_t, Deleter<wasmtime_component_type_delete>>;
using LinkerPtr = std::unique_ptr<wasmtime_component_linker_t, Deleter<wasmtime_component_linker_delete>>;
using LinkerInstancePtr =
    std::unique_ptr<wasmtime_component_linker_instance_t, Deleter<wasmtime_component_linker_instance_delete>>;
using ExportIndexPtr =
    std::unique_ptr<wasmtime_component_export_index_t, Deleter<wasmtime_component_export_index_delete>>;
using ResourceTypePtr =
    std::unique_ptr<wasmtime_component_resource_type_t, Deleter<wasmtime_component_resource_type_delete>>;
using ResourceHostPtr =
    std::unique_ptr<wasmtime_component_resource_host_t, Deleter<wasmtime_component_resource_host_delete>>;
using StorePtr = std::unique_ptr<wasmtime_store_t, Deleter<wasmtime_store_delete>>;
using FuturePtr = std::unique_ptr<wasmtime_call_future_t, Deleter<wasmtime_call_future_delete>>;

// The message of an error of the library, which is released.
std::string TakeMessage(wasmtime_error_t* error);

// What a component or the host did wrong, in words for people.
struct Refused : std::runtime_error {
  using runtime_error::runtime_error;
};

// Compiled code that another library, program or processor made, or that is damaged.
struct Unloadable : std::runtime_error {
  using runtime_error::runtime_error;
};

// Throws `Refused` with `what` and the message of `error`, unless it is null.
void Require(wasmtime_error_t* error, const std::string& what);

}  // namespace aana::sandbox
