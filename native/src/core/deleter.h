#pragma once

namespace aana {

// For std::unique_ptr over what a C library allocates: `std::unique_ptr<llama_model, Deleter<llama_model_free>>`.
template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const noexcept {
    Free(pointer);
  }
};

}  // namespace aana
