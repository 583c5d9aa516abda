#pragma once

#include <stdexcept>
#include <string>

#include "core/request_terms.h"

namespace aana::llama {

// A request for which no token can be chosen, or whose sampling parameters do not fit the model.
class SamplingError : public std::runtime_error {
 public:
  SamplingError(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}

  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

}  // namespace aana::llama
