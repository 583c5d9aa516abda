#pragma once

namespace aana::sandbox {

// The sandbox of endpoint plugins: a process that compiles one component, or runs it.
//
//   aana-sandbox describe [name=value…]  0: component, 1: its description
//   aana-sandbox compile  [name=value…]  0: component, 1: its description, 3: its compiled code
//   aana-sandbox serve    [name=value…]  3: compiled code, 4…: a stream socket for each thread
//   aana-sandbox confine  [name=value…] -- program [argument…]  becomes the program
//   aana-sandbox confinement             1: what the kernel would enforce, as JSON
//
// Standard error gets one sentence. Exit codes: 2 the component is refused, 3 something else failed, 4 the host has
// broken the protocol, 5 the compiled code cannot be loaded.
int Run(int count, char** arguments);

}  // namespace aana::sandbox
