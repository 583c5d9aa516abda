#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace aana {

// A GPU, or a part of one, as NVIDIA's driver gives it to this process.
struct DriverGpu {
  std::string uuid;  // as CUDA_VISIBLE_DEVICES takes it: `GPU-…`, of a part `MIG-…`
  std::string name;
  size_t memory_total_bytes;
};

// The GPUs that CUDA_VISIBLE_DEVICES leaves, in CUDA's order; none without the driver's library. It needs no nvidia-smi and no CUDA backend.
std::vector<DriverGpu> ListDriverGpus();

}  // namespace aana
