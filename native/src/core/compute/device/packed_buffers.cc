#include "core/compute/device/packed_buffers.h"

#include <ggml-backend-impl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "core/checksum.h"
#include "core/compute/device/packed_file.h"
#include "core/compute/device/processor_device.h"
#include "core/compute/matrix/matrix_source.h"

namespace aana::compute {
namespace {

constexpr size_t kAlignment = 64;

std::atomic<size_t> packed_bytes{0};

thread_local bool sets_weights = false;

// Matrices that llama.cpp's graphs multiply as a whole. Others, such as those of latent attention, are also seen in
// parts, which a packed matrix has not.
bool HasKnownName(const ggml_tensor* weights) {
  std::string_view name = weights->name;
  constexpr std::string_view kEnd = ".weight";
  if (!name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  constexpr std::array<std::string_view, 9> kNames = {"attn_q",   "attn_k", "attn_v",   "attn_qkv", "attn_output",
                                                      "ffn_gate", "ffn_up", "ffn_down", "output"};
  return name == "token_embd" || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// The memory of a buffer: that of the process, or a file.
struct Memory {
  std::unique_ptr<void, decltype(&std::free)> own{nullptr, std::free};
  std::shared_ptr<MappedFile> mapped;

  void* data() const { return mapped ? mapped->data() : own.get(); }
};

void FreeBuffer(ggml_backend_buffer_t buffer) { delete static_cast<Memory*>(buffer->context); }

void* BaseOf(ggml_backend_buffer_t buffer) { return static_cast<Memory*>(buffer->context)->data(); }

// Returns the file in which the buffer lies, while weights are loaded into it.
PackedFile* FileOf(ggml_backend_buffer_t buffer) {
  return static_cast<Memory*>(buffer->context)->mapped ? LoadsInto::file() : nullptr;
}

void MemsetTensor(ggml_backend_buffer_t, ggml_tensor* tensor, uint8_t value, size_t offset, size_t size) {
  std::memset(static_cast<char*>(tensor->data) + offset, value, size);
}

void SetTensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void* data, size_t offset, size_t size) {
  const bool is_packed = buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS && CanPack(tensor);
  const bool is_whole = offset == 0 && size == ggml_nbytes(tensor);
  GGML_ASSERT((!is_packed || is_whole) && "packed weights are set as a whole");
  if (is_packed) packed_bytes += size;
  auto* const file = FileOf(buffer);
  const auto place = static_cast<size_t>(static_cast<char*>(tensor->data) - static_cast<char*>(BaseOf(buffer)));
  if (file && is_whole && file->Has(tensor, place, is_packed)) return;
  if (is_packed)
    PackMatrix(tensor->type, data, tensor->ne[0], tensor->ne[1], tensor->data);
  else
    std::memcpy(static_cast<char*>(tensor->data) + offset, data, size);
  if (file && is_whole)
    file->Note(tensor, place, is_packed);
  else if (file)
    file->NoteUnknown();
}

void GetTensor(ggml_backend_buffer_t buffer, const ggml_tensor* tensor, void* data, size_t offset, size_t size) {
  GGML_ASSERT((buffer->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS || !CanPack(tensor)) &&
              "packed weights are not read back");
  std::memcpy(data, static_cast<const char*>(tensor->data) + offset, size);
}

void ClearBuffer(ggml_backend_buffer_t buffer, uint8_t value) { std::memset(BaseOf(buffer), value, buffer->size); }

ggml_backend_buffer_t AllocateBuffer(ggml_backend_buffer_type_t type, size_t size) {
  constexpr ggml_backend_buffer_i kBuffer = {
      .free_buffer = FreeBuffer,
      .get_base = BaseOf,
      .init_tensor = nullptr,
      .memset_tensor = MemsetTensor,
      .set_tensor = SetTensor,
      .get_tensor = GetTensor,
      .set_tensor_2d = nullptr,
      .get_tensor_2d = nullptr,
      .cpy_tensor = nullptr,
      .clear = ClearBuffer,
      .reset = nullptr,
  };
  auto memory = std::make_unique<Memory>();
  if (auto* const file = LoadsInto::file()) memory->mapped = file->Map(size);
  if (!memory->mapped) memory->own.reset(std::aligned_alloc(kAlignment, (size + kAlignment) / kAlignment * kAlignment));
  return memory->data() ? ggml_backend_buffer_init(type, kBuffer, memory.release(), size) : nullptr;
}

size_t TensorBytes(ggml_backend_buffer_type_t, const ggml_tensor* tensor) {
  return CanPack(tensor)
             ? std::max(ggml_nbytes(tensor), MatrixBytes(*FormOf(tensor->type), tensor->ne[0], tensor->ne[1]))
             : ggml_nbytes(tensor);
}

}  // namespace

bool CanPack(const ggml_tensor* weights) {
  return FormOf(weights->type) && weights->ne[2] == 1 && weights->ne[3] == 1 && !weights->view_src &&
         ggml_is_contiguous(weights) && HasKnownName(weights);
}

bool IsPacked(const ggml_tensor* tensor) {
  return tensor->buffer && tensor->buffer->buft == PackedBufferType() && CanPack(tensor);
}

SetsWeights::SetsWeights() { sets_weights = true; }

SetsWeights::~SetsWeights() { sets_weights = false; }

uint64_t PackingMark() {
  static const uint64_t mark = [] {
    constexpr int64_t kWidth = 256;  // a block of the largest types
    constexpr int64_t kHeight = 16;
    uint64_t sum = 0;
    for (int number = 0; number < GGML_TYPE_COUNT; number++) {
      const auto type = static_cast<ggml_type>(number);
      const auto form = FormOf(type);
      if (!form) continue;
      std::vector<uint8_t> sample(ggml_row_size(type, kWidth) * kHeight);
      // Small bytes, which make no infinite scale.
      for (size_t i = 0; i < sample.size(); i++) sample[i] = static_cast<uint8_t>(i * 37 % 59);
      std::vector<uint8_t> packed(MatrixBytes(*form, kWidth, kHeight) + kAlignment);
      auto* const to = packed.data() + (kAlignment - reinterpret_cast<uintptr_t>(packed.data()) % kAlignment);
      PackMatrix(type, sample.data(), kWidth, kHeight, to);
      sum = Checksum(to, MatrixBytes(*form, kWidth, kHeight), sum);
    }
    return sum;
  }();
  return mark;
}

size_t PackedBytes() { return packed_bytes; }

ggml_backend_buffer_type_t PackedBufferType() {
  static ggml_backend_buffer_type type = {
      .iface = {.get_name = [](ggml_backend_buffer_type_t) { return "AANA"; },
                .alloc_buffer = AllocateBuffer,
                .get_alignment = [](ggml_backend_buffer_type_t) { return kAlignment; },
                .get_max_size = nullptr,
                .get_alloc_size = TensorBytes,
                .is_host = [](ggml_backend_buffer_type_t) { return !sets_weights; }},
      .device = ProcessorDevice(),
      .context = nullptr,
  };
  return &type;
}

}  // namespace aana::compute
