#pragma once

#include "sandbox/settings.h"

namespace aana::sandbox {

// Runs the component whose compiled code is descriptor 3, for the host at the sockets from descriptor 4 on, until the
// host closes one of them. Throws `Refused`, or `Malformed` when the host breaks the protocol.
void Serve(const Settings& settings);

}  // namespace aana::sandbox
