#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace aana::compute {

// ggml's processor device; null if none is loaded.
ggml_backend_dev_t CpuDevice();

// Returns a function that ggml's processor backend offers by its name.
template <typename Function>
Function CpuFunction(const char* name) {
  return reinterpret_cast<Function>(ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(CpuDevice()), name));
}

// Threads of ggml's for its processor backend, which else starts new ones for each graph. They sleep between graphs.
class ProcessorThreads {
 public:
  // `n_threads`: with the calling one. Needs the processor device.
  explicit ProcessorThreads(int n_threads);
  ~ProcessorThreads();
  ProcessorThreads(const ProcessorThreads&) = delete;
  ProcessorThreads& operator=(const ProcessorThreads&) = delete;

  ggml_threadpool_t get() const { return pool_; }

 private:
  ggml_threadpool_t pool_;
};

}  // namespace aana::compute
