#pragma once

#include <ggml-backend.h>

#include <cstddef>
#include <cstdint>

// Memory in which quantized matrices lie packed.
namespace aana::compute {

// Whether the matrix is packed in such a buffer.
bool CanPack(const ggml_tensor* weights);

// Whether the tensor is a packed matrix. Only MUL_MAT can use it, and only as a whole.
bool IsPacked(const ggml_tensor* tensor);

// Buffers of main memory. Matrices are packed when they are set in a buffer of weights; everything else lies there as
// in ggml's own buffers, so that ggml's processor backend can compute with it.
ggml_backend_buffer_type_t PackedBufferType();

// While it lives, this thread takes such buffers for memory that cannot be written directly. llama.cpp then sets
// weights that it reads from a file, in place of reading them into the buffer, where they would not be packed.
class SetsWeights {
 public:
  SetsWeights();
  ~SetsWeights();
  SetsWeights(const SetsWeights&) = delete;
  SetsWeights& operator=(const SetsWeights&) = delete;
};

// Returns a number that changes when matrices are packed in another way: a sum over a packed sample of each type.
uint64_t PackingMark();

// Returns the bytes of all matrices that were packed so far, in ggml's types.
size_t PackedBytes();

}  // namespace aana::compute
