#pragma once

#include <string>

#include "sandbox/library/owned.h"

namespace aana::sandbox {

// Imports and exports of a component as data, in CBOR: `{imports, exports}`, each an array of `[name, members]`. The
// members of an interface are an array of `[name, what]`, in which `what` is the text of a function's type, `resource`
// or `type`. Of what is no interface, they are a text that says what it is. Nothing runs. Throws `Refused`.
std::string Describe(const wasm_engine_t* engine, const wasmtime_component_t* component);

}  // namespace aana::sandbox
