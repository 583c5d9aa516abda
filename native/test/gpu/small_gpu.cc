// A backend of ggml with one GPU that has SMALL_GPU_BYTES of memory and computes nothing. Models are loaded onto it
// until it is full. The tests give it the name of CUDA's backend.
#include <ggml-backend-impl.h>

#include <cstdlib>

namespace {

size_t used_bytes = 0;
void (*free_in_main_memory)(ggml_backend_buffer_t) = nullptr;

size_t TotalBytes() {
  const char* text = std::getenv("SMALL_GPU_BYTES");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

extern ggml_backend_buffer_type buffer_type;
extern ggml_backend_device device;
extern ggml_backend_reg registration;

void Free(ggml_backend_buffer_t buffer) {
  used_bytes -= buffer->size;
  free_in_main_memory(buffer);
}

ggml_backend_buffer_t Allocate(ggml_backend_buffer_type_t, size_t size) {
  if (used_bytes + size > TotalBytes()) return nullptr;
  auto* buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
  if (!buffer) return nullptr;
  used_bytes += buffer->size;
  free_in_main_memory = buffer->iface.free_buffer;
  buffer->iface.free_buffer = Free;
  buffer->buft = &buffer_type;
  return buffer;
}

ggml_backend_buffer_type buffer_type = {
    .iface = {
        .get_name = [](ggml_backend_buffer_type_t) { return "CUDA0"; },
        .alloc_buffer = Allocate,
        .get_alignment = [](ggml_backend_buffer_type_t) -> size_t { return 64; },
        .get_max_size = nullptr,
        .get_alloc_size = nullptr,
        .is_host = nullptr,
    },
    .device = &device,
    .context = nullptr,
};

ggml_backend_t Start(ggml_backend_dev_t, const char*) {
  static ggml_guid guid = {1};
  ggml_backend_i iface{};
  iface.get_name = [](ggml_backend_t) { return "CUDA0"; };
  iface.free = [](ggml_backend_t backend) { delete backend; };
  iface.graph_compute = [](ggml_backend_t, ggml_cgraph*) { return GGML_STATUS_FAILED; };
  return new ggml_backend{.guid = &guid, .iface = iface, .device = &device, .context = nullptr};
}

ggml_backend_device_i DeviceInterface() {
  ggml_backend_device_i iface{};
  iface.get_name = [](ggml_backend_dev_t) { return "CUDA0"; };
  iface.get_description = [](ggml_backend_dev_t) { return "a small GPU"; };
  iface.get_memory = [](ggml_backend_dev_t, size_t* free_bytes, size_t* total_bytes) {
    *total_bytes = TotalBytes();
    *free_bytes = *total_bytes - used_bytes;
  };
  iface.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; };
  iface.get_props = [](ggml_backend_dev_t dev, ggml_backend_dev_props* props) {
    *props = {};
    props->name = ggml_backend_dev_name(dev);
    props->description = ggml_backend_dev_description(dev);
    props->type = GGML_BACKEND_DEVICE_TYPE_GPU;
    ggml_backend_dev_memory(dev, &props->memory_free, &props->memory_total);
  };
  iface.init_backend = Start;
  iface.get_buffer_type = [](ggml_backend_dev_t) { return &buffer_type; };
  iface.supports_op = [](ggml_backend_dev_t, const ggml_tensor*) { return true; };
  iface.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return type == &buffer_type; };
  return iface;
}

ggml_backend_device device = {.iface = DeviceInterface(), .reg = &registration, .context = nullptr};

ggml_backend_reg registration = {
    .api_version = GGML_BACKEND_API_VERSION,
    .iface = {
        .get_name = [](ggml_backend_reg_t) { return "CUDA"; },
        .get_device_count = [](ggml_backend_reg_t) -> size_t { return TotalBytes() > 0 ? 1 : 0; },
        .get_device = [](ggml_backend_reg_t, size_t) { return &device; },
        .get_proc_address = [](ggml_backend_reg_t, const char*) -> void* { return nullptr; },
    },
    .context = nullptr,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() { return &registration; }
