#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace aana {

enum class DeviceType { kCpu, kGpu, kAccelerator };

struct Device {
  std::string name;
  std::string description;
  DeviceType type;
  size_t memory_free_bytes;
  size_t memory_total_bytes;
};

// Loads ggml's backends from `directories`, including the best CPU variant. Skips directories that were loaded before.
// Does nothing if the backends are linked in.
void LoadBackends(const std::vector<std::string>& directories);

std::vector<Device> ListDevices();

}  // namespace aana
