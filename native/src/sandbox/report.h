#pragma once

#include "sandbox/settings.h"

namespace aana::sandbox {

// Makes the engine that would run guests, confines this process as for guests, and writes what the kernel enforces to
// standard output, as JSON. Throws when guests cannot run on this machine.
void ReportConfinement(const Settings& settings);

}  // namespace aana::sandbox
