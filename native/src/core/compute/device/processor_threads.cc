#include "core/compute/device/processor_threads.h"

#include <ggml-cpu.h>

namespace aana::compute {

ggml_backend_dev_t CpuDevice() { return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU); }

ProcessorThreads::ProcessorThreads(int n_threads) {
  auto params = ggml_threadpool_params_default(n_threads);
  params.poll = 0;  // with other values they compute for nothing after each step, for up to a tenth of a second
  pool_ = CpuFunction<decltype(&ggml_threadpool_new)>("ggml_threadpool_new")(&params);
}

ProcessorThreads::~ProcessorThreads() { CpuFunction<decltype(&ggml_threadpool_free)>("ggml_threadpool_free")(pool_); }

}  // namespace aana::compute
