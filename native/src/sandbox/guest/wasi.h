#pragma once

#include <string>

#include "sandbox/values/types.h"

namespace aana::sandbox {

// Defines a function of WASI 0.2. Standard input, environment, arguments and files are empty, output goes to the host,
// clocks tell the time in whole milliseconds, and random numbers are the kernel's. All other functions trap with
// `denied`. Throws `Refused` for a function that is answered and has another type than WASI's.
void AddWasiFunction(wasmtime_component_linker_instance_t& instance, const std::string& interface,
                     const std::string& name, const FunctionType& type, const ResourceTypes& resources);

}  // namespace aana::sandbox
