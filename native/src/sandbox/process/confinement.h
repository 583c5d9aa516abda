#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sandbox/process/landlock.h"

namespace aana::sandbox {

// What the kernel enforces for this process. `landlock` is the version of its interface, 0 without it.
struct Confinement {
  bool has_no_new_privileges = false;
  bool has_filter = false;
  int landlock = 0;
  bool has_memory_limit = false;
};

// As JSON, with the names that `kReady` has.
std::string JsonOf(const Confinement& confinement);

// What a guest, or a hole in the library, could misuse is taken away in three steps. The first is before the library is
// used, because it keeps descriptors of its own: descriptors from `first` on are closed, and the environment is
// emptied.
void DropInheritance(int first);

// The second step is before threads start: no new privileges, no rights of an administrator, no core dumps, few
// descriptors, and with Landlock no files but `readable`, no TCP, and no signals to others. `data_bytes` bounds the
// private memory of the process, beyond what it has. The third step is `FilterSystemCalls`, after all threads have
// started.
Confinement ConfineProcess(uint64_t data_bytes, uint32_t descriptors = 128, std::span<const Readable> readable = {});

}  // namespace aana::sandbox
