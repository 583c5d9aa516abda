#pragma once

#include <napi.h>

#include "core/llama/sampling/params.h"

namespace aana {

// From LlamaSampling of native/lib/binding.ts. Throws a Napi::TypeError or Napi::RangeError that names the field.
llama::SamplingParams ToSamplingParams(const Napi::Object& object);

}  // namespace aana
