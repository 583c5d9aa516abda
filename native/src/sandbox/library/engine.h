#pragma once

#include <string>
#include <string_view>

#include "sandbox/library/owned.h"
#include "sandbox/settings.h"

namespace aana::sandbox {

// What one invocation may have of the pool. A component that needs more is refused when it is instantiated.
inline constexpr uint32_t kCoreInstances = 64;
inline constexpr uint32_t kMemories = 4;
inline constexpr uint32_t kTables = 8;
inline constexpr size_t kTableElements = 20'000;

// Compiles components. Its flags are those of `MakePool`, because compiled code depends on them.
EnginePtr MakeCompiler(const Settings& settings);

// An engine with places for `slots` invocations. `warm_bytes` of each memory stay mapped between uses.
EnginePtr MakePool(const Settings& settings, uint32_t slots, uint64_t warm_bytes);

// Throws `Refused`, in words for the author of a component.
ComponentPtr Compile(const wasm_engine_t* engine, std::string_view bytes);

}  // namespace aana::sandbox
