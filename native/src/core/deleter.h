#pragma once

namespace aana {

// A deleter for std::unique_ptr over an object of a C library: `std::unique_ptr<llama_model,
// Deleter<llama_model_free>>`.
template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const noexcept {
    Free(pointer);
  }
};

}  // namespace aana
