#pragma once

#include <string>
#include <string_view>

#include "sandbox/values/types.h"

namespace aana::sandbox {

// Whether this process answers a function itself: those of WASI 0.2, and those of the host that every plugin may use
// and that need no host. `interface` has no version.
bool IsAnsweredHere(std::string_view interface, std::string_view name);

// Defines a function that this process answers. Standard input, environment, arguments and files are empty, output goes
// to the host, clocks tell the time in whole milliseconds, and random numbers are the kernel's. All other functions of
// WASI trap with `denied`. Throws `Refused` for a function that is answered and has another type than expected.
void AddAnswer(wasmtime_component_linker_instance_t& instance, const std::string& interface, const std::string& name,
               const FunctionType& type, const ResourceTypes& resources);

}  // namespace aana::sandbox
