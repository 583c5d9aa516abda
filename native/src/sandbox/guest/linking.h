#pragma once

#include <string>

#include "sandbox/guest/plugin.h"

namespace aana::sandbox {

// Defines all imports of the pool's component: those of `aana:…` ask the host, unless this process answers them.
// `output` is the function whose calls are output, without a version. Throws `Refused` for other imports.
void LinkImports(Pool& pool, const std::string& output);

}  // namespace aana::sandbox
