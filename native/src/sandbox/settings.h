#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aana::sandbox {

// What the host chooses, in arguments of the form `name=value`. None of them is secret, because other users can see
// arguments.
struct Settings {
  // Except `confine`: whether code is made by Winch, which compiles five times as fast and runs half as fast as
  // Cranelift.
  bool is_fast = false;
  // `compile`: largest component.
  uint64_t component_bytes = uint64_t{64} << 20;
  // `compile`: what the process may take for itself.
  uint64_t compile_bytes = uint64_t{2} << 30;
  uint64_t compile_seconds = 120;

  // `confine`: descriptors that the program keeps, from 0 on. `total_bytes` are those of its private memory.
  uint32_t descriptors = 3;
  // Files and folders that it may read, beside itself and the libraries of the system.
  std::vector<std::string> readable;

  // `serve`: threads, each with one socket, from descriptor 4 on.
  uint32_t threads = 1;
  // Most invocations at a time.
  uint32_t slots = 128;
  // Invocations, of `slots`, whose memory stays mapped between uses, and the bytes of it that do.
  uint32_t warm_slots = 32;
  uint64_t warm_bytes = uint64_t{4} << 20;
  // Most bytes of one memory, and of all invocations together by the sizes of their memories.
  uint64_t memory_bytes = uint64_t{128} << 20;
  uint64_t total_bytes = uint64_t{1} << 30;
  // The interface whose functions the host calls, such as `aana:host/endpoint@0.1.0`.
  std::string endpoint;
  // The function whose calls are output, such as `aana:host/output#write`.
  std::string output;
};

// Throws `Refused` for an argument that is unknown or has no valid value.
Settings ReadSettings(int count, char** arguments);

}  // namespace aana::sandbox
