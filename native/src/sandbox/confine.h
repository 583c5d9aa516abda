#pragma once

#include "sandbox/settings.h"

namespace aana::sandbox {

// Confines this process as `serve` does, and becomes the program `command[0]`, a path, with its arguments. The program
// may read itself, libraries of the system and `settings.readable`, write nothing, and make threads, but neither
// processes nor connections. Its environment has AANA_CONFINEMENT: what the kernel enforces, as JSON with the names of
// `kReady`. Throws when the program cannot be run.
[[noreturn]] void RunConfined(const Settings& settings, char** command);

}  // namespace aana::sandbox
