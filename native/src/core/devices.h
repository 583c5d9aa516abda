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

// A backend for GPUs whose file was found.
struct GpuBackend {
  std::string name;     // `cuda` or `vulkan`
  std::string problem;  // why it has no devices, in the words of the loader or of the backend; empty if it has some
};

// Loads ggml's backends from `directories`, including the best CPU variant. Skips directories that were loaded before.
// Does nothing if the backends are linked in.
void LoadBackends(const std::vector<std::string>& directories);

// Returns the backends for GPUs in the directories that were loaded.
std::vector<GpuBackend> ListGpuBackends();

std::vector<Device> ListDevices();

}  // namespace aana
