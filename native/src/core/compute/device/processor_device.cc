#include "core/compute/device/processor_device.h"

// The interface for backends. ggml's libraries and this header are of one version.
#include <ggml-backend-impl.h>

#include <string_view>

#include "core/compute/device/graph_backend.h"
#include "core/compute/device/packed_buffers.h"
#include "core/compute/device/processor_threads.h"
#include "core/compute/kernel_sets.h"

namespace aana::compute {
namespace {

constexpr const char* kName = "AANA";

// docs/decisions/upgrades.md says what to compare when it changes.
static_assert(GGML_BACKEND_API_VERSION == 2, "ggml's interface for backends is not the one that this file implements");

GraphBackend& Self(ggml_backend_t backend) { return *static_cast<GraphBackend*>(backend->context); }

ggml_backend_t InitBackend(ggml_backend_dev_t device, const char*) {
  static ggml_guid guid = {0x3c, 0x51, 0x0e, 0x77, 0x6a, 0x1d, 0x4b, 0x19,
                           0x9e, 0x02, 0xd4, 0x8b, 0x25, 0xf0, 0x66, 0xac};
  constexpr ggml_backend_i kBackend = {
      .get_name = [](ggml_backend_t) { return kName; },
      .free =
          [](ggml_backend_t backend) {
            delete &Self(backend);
            delete backend;
          },
      .set_tensor_async = nullptr,
      .get_tensor_async = nullptr,
      .set_tensor_2d_async = nullptr,
      .get_tensor_2d_async = nullptr,
      .cpy_tensor_async = nullptr,
      .synchronize = nullptr,
      .graph_plan_create = nullptr,
      .graph_plan_free = nullptr,
      .graph_plan_update = nullptr,
      .graph_plan_compute = nullptr,
      .graph_compute = [](ggml_backend_t backend, ggml_cgraph* graph) { return Self(backend).Compute(*graph); },
      .event_record = nullptr,
      .event_wait = nullptr,
      .graph_optimize = nullptr,
  };
  return new ggml_backend{.guid = &guid, .iface = kBackend, .device = device, .context = new GraphBackend(CpuDevice())};
}

bool SupportsOp(ggml_backend_dev_t, const ggml_tensor* op) {
  if (MultipliesPacked(op)) return true;
  for (const auto* source : op->src) {
    if (!source || !source->buffer || source->buffer->buft != PackedBufferType()) continue;
    // llama.cpp asks with an empty buffer whether weights shall lie in ours. All but matrices stay in the file's
    // mapping.
    if (source->buffer->size == 0 || IsPacked(source->view_src ? source->view_src : source)) return false;
  }
  return ggml_backend_dev_supports_op(CpuDevice(), op);
}

void Describe(ggml_backend_dev_t, ggml_backend_dev_props* props) {
  *props = {};
  props->name = kName;
  props->description = "kernels of aana-host on the processor";
  props->type = GGML_BACKEND_DEVICE_TYPE_ACCEL;
  props->caps.mmap_support = true;  // other weights stay in the file's mapping
}

ggml_backend_reg_t OurRegistry();

void SetThreads(ggml_backend_t backend, int n_threads) { Self(backend).SetThreads(n_threads); }

void SetAbort(ggml_backend_t backend, ggml_abort_callback callback, void* data) {
  CpuFunction<ggml_backend_set_abort_callback_t>("ggml_backend_set_abort_callback")(Self(backend).backend(), callback,
                                                                                    data);
}

void* FindFunction(ggml_backend_reg_t, const char* asked) {
  const std::string_view name = asked;
  if (name == "ggml_backend_set_n_threads") return reinterpret_cast<void*>(SetThreads);
  if (name == "ggml_backend_set_abort_callback") return reinterpret_cast<void*>(SetAbort);
  return nullptr;
}

ggml_backend_reg_t OurRegistry() {
  static ggml_backend_reg registry = {
      .api_version = GGML_BACKEND_API_VERSION,
      .iface = {.get_name = [](ggml_backend_reg_t) { return kName; },
                .get_device_count = [](ggml_backend_reg_t) -> size_t { return 1; },
                .get_device = [](ggml_backend_reg_t, size_t) { return ProcessorDevice(); },
                .get_proc_address = FindFunction},
      .context = nullptr,
  };
  return &registry;
}

}  // namespace

ggml_backend_dev_t ProcessorDevice() {
  static ggml_backend_device device = {
      .iface = {.get_name = [](ggml_backend_dev_t) { return kName; },
                .get_description = [](ggml_backend_dev_t) { return "kernels of aana-host on the processor"; },
                .get_memory = [](ggml_backend_dev_t, size_t* free, size_t* total) { *free = *total = 0; },
                .get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; },
                .get_props = Describe,
                .init_backend = InitBackend,
                .get_buffer_type = [](ggml_backend_dev_t) { return PackedBufferType(); },
                .get_host_buffer_type = nullptr,
                .buffer_from_host_ptr = nullptr,
                .supports_op = SupportsOp,
                .supports_buft =
                    [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) {
                      return type == PackedBufferType() || ggml_backend_dev_supports_buft(CpuDevice(), type);
                    },
                .offload_op = nullptr,
                .event_new = nullptr,
                .event_free = nullptr,
                .event_synchronize = nullptr},
      .reg = OurRegistry(),
      .context = nullptr,
  };
  return FastKernelSet() && CpuDevice() ? &device : nullptr;
}

}  // namespace aana::compute
