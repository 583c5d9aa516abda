#pragma once

#include "sandbox/settings.h"

namespace aana::sandbox {

// Compiles the component that is read from descriptor 0, under limits of time and memory. Writes its description to
// descriptor 1, and with `with_code` its code to descriptor 3. Nothing of the component runs. Throws `Refused`.
void RunCompiler(const Settings& settings, bool with_code);

}  // namespace aana::sandbox
