#pragma once

#include "sandbox/settings.h"

// What the program is told to do (see run.h).
namespace aana::sandbox {

// Compiles the component that is read from descriptor 0, under limits of time and memory. Writes its description to
// descriptor 1, and with `with_code` its code to descriptor 3. Nothing of the component runs. Throws `Refused`.
void RunCompiler(const Settings& settings, bool with_code);

// Runs the component whose compiled code is descriptor 3, for the host at the sockets from descriptor 4 on, until the
// host closes one of them. Throws `Refused`, or `Malformed` when the host breaks the protocol.
void Serve(const Settings& settings);

// Confines this process as `serve` does, and becomes the program `command[0]`, a path, with its arguments. The program
// may read itself, libraries of the system and `settings.readable`, write nothing, and make threads, but neither
// processes nor connections. Its environment has AANA_CONFINEMENT: what the kernel enforces, as JSON with the names of
// `kReady`. Throws when the program cannot be run.
[[noreturn]] void RunConfined(const Settings& settings, char** command);

// Makes the engine that would run guests, confines this process as for guests, and writes what the kernel enforces to
// standard output, as JSON. Throws when guests cannot run on this machine.
void ReportConfinement(const Settings& settings);

}  // namespace aana::sandbox
