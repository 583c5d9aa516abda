#pragma once

#include <cstdint>

namespace aana::sandbox {

// What a process does after it was confined. Each needs other system calls.
enum class Work : uint8_t {
  kGuests,   // running compiled code. Nothing becomes code.
  kCompile,  // making code on several threads, without executing it
  kProgram,  // running another program with a compiler of its own, Node
};

// Installs a filter of system calls for all threads of this process, and for a program that it executes. What the work
// does not need fails with `EPERM`. Returns whether the kernel has taken it, which needs that there are no new
// privileges.
bool FilterSystemCalls(Work work);

}  // namespace aana::sandbox
