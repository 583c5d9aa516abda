#include "core/devices.h"

#include <ggml-backend.h>

#include <mutex>
#include <set>
#include <string_view>

#include "core/engine_log.h"

namespace aana {

void LoadBackends(const std::vector<std::string>& directories) {
  InitEngines();
  if (std::string_view(AANA_BUILD_MODE) == "source") return;
  static std::mutex mutex;
  static auto* loaded = new std::set<std::string>;
  std::lock_guard lock(mutex);
  for (const auto& directory : directories) {
    if (loaded->insert(directory).second) ggml_backend_load_all_from_path(directory.c_str());
  }
}

std::vector<Device> ListDevices() {
  InitEngines();
  std::vector<Device> devices;
  for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
    auto* device = ggml_backend_dev_get(i);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    DeviceType type = DeviceType::kAccelerator;
    switch (ggml_backend_dev_type(device)) {
      case GGML_BACKEND_DEVICE_TYPE_CPU:
        type = DeviceType::kCpu;
        break;
      case GGML_BACKEND_DEVICE_TYPE_GPU:
      case GGML_BACKEND_DEVICE_TYPE_IGPU:
        type = DeviceType::kGpu;
        break;
      default:
        break;
    }
    devices.push_back(
        {ggml_backend_dev_name(device), ggml_backend_dev_description(device), type, free_bytes, total_bytes});
  }
  return devices;
}

}  // namespace aana
