#include "core/cuda_driver.h"

#ifdef __linux__
#include <dlfcn.h>
#endif

#include <array>
#include <cstdint>
#include <string_view>

namespace aana {
namespace {

// Declarations of the driver's stable binary interface, so that no header is needed. The functions return 0 on success.
using Uuid = std::array<uint8_t, 16>;
using Init = int (*)(unsigned);
using DeviceGetCount = int (*)(int*);
using DeviceGet = int (*)(int*, int);
using DeviceGetUuid = int (*)(Uuid*, int);
using DeviceGetName = int (*)(char*, int, int);
using DeviceTotalMem = int (*)(size_t*, int);

std::string Text(const char* prefix, const Uuid& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = prefix;
  for (size_t i = 0; i < uuid.size(); i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

}  // namespace

std::vector<DriverGpu> ListDriverGpus() {
  std::vector<DriverGpu> gpus;
#ifdef __linux__
  // Never closed, because the CUDA backend may use it too.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return gpus;
  const auto init = reinterpret_cast<Init>(dlsym(library, "cuInit"));
  const auto get_count = reinterpret_cast<DeviceGetCount>(dlsym(library, "cuDeviceGetCount"));
  const auto get = reinterpret_cast<DeviceGet>(dlsym(library, "cuDeviceGet"));
  const auto get_gpu_uuid = reinterpret_cast<DeviceGetUuid>(dlsym(library, "cuDeviceGetUuid"));
  const auto get_own_uuid = reinterpret_cast<DeviceGetUuid>(dlsym(library, "cuDeviceGetUuid_v2"));  // since CUDA 11.4
  const auto get_name = reinterpret_cast<DeviceGetName>(dlsym(library, "cuDeviceGetName"));
  const auto get_memory = reinterpret_cast<DeviceTotalMem>(dlsym(library, "cuDeviceTotalMem_v2"));
  if (!init || !get_count || !get || !get_gpu_uuid || !get_name || !get_memory) return gpus;
  int count = 0;
  if (init(0) != 0 || get_count(&count) != 0) return gpus;
  for (int i = 0; i < count; i++) {
    int device = 0;
    Uuid of_gpu{};
    // A list with a gap would assign names to the wrong GPUs.
    if (get(&device, i) != 0 || get_gpu_uuid(&of_gpu, device) != 0) return {};
    Uuid own = of_gpu;
    if (get_own_uuid && get_own_uuid(&own, device) != 0) own = of_gpu;
    std::array<char, 256> name{};
    size_t bytes = 0;
    get_name(name.data(), static_cast<int>(name.size()) - 1, device);
    get_memory(&bytes, device);
    // A partition has its own UUID beside its GPU's.
    gpus.push_back({Text(own == of_gpu ? "GPU-" : "MIG-", own), name.data(), bytes});
  }
#endif
  return gpus;
}

}  // namespace aana
