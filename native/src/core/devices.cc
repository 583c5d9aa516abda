#include "core/devices.h"

#include <ggml-backend.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#include "core/engine_log.h"

namespace aana {
namespace {

// Never destroyed, because backends are not unloaded.
struct Loaded {
  std::mutex mutex;
  std::set<std::string> directories;
  std::vector<GpuBackend> gpu_backends;
};

Loaded& LoadedOnes() {
  static auto* loaded = new Loaded;
  return *loaded;
}

// ggml loads all backends of a directory without a word about those that fail.
std::string ProblemOf(const std::string& file) {
  const ScopedLoadLog log;
  auto* backend = ggml_backend_load(file.c_str());
  if (backend && ggml_backend_reg_dev_count(backend) > 0) return "";
  return log.error().empty() ? "it finds no GPU" : log.error();
}

}  // namespace

void LoadBackends(const std::vector<std::string>& directories) {
  InitEngines();
  if (std::string_view(AANA_BUILD_MODE) == "source") return;
  auto& loaded = LoadedOnes();
  std::lock_guard lock(loaded.mutex);
  for (const auto& directory : directories) {
    if (!loaded.directories.insert(directory).second) continue;
    for (const auto* name : {"cuda", "vulkan"}) {
      const auto file = directory + "/libggml-" + name + ".so";
      if (std::filesystem::exists(file)) loaded.gpu_backends.push_back({name, ProblemOf(file)});
    }
    ggml_backend_load_all_from_path(directory.c_str());
  }
}

std::vector<GpuBackend> ListGpuBackends() {
  auto& loaded = LoadedOnes();
  std::lock_guard lock(loaded.mutex);
  return loaded.gpu_backends;
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
