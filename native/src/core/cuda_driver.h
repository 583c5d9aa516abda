#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace aana {

// A GPU, or a partition of one, as NVIDIA's driver reports it to this process.
struct DriverGpu {
  std::string uuid;  // as in CUDA_VISIBLE_DEVICES: `GPU-…`, or `MIG-…` for a partition
  std::string name;
  size_t memory_total_bytes;
};

// Returns the GPUs that CUDA_VISIBLE_DEVICES permits, in CUDA's order; empty without the driver's library. Needs
// neither nvidia-smi nor a CUDA backend.
std::vector<DriverGpu> ListDriverGpus();

}  // namespace aana
