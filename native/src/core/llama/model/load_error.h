#pragma once

#include <stdexcept>

namespace aana::llama {

// A model that cannot be loaded; the message names its file.
struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace aana::llama
