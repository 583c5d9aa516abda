#pragma once

#include <napi.h>

namespace aana {

// `loadVoiceDetector(modelPath)` in native/lib/binding.ts.
Napi::Value LoadVoiceDetector(const Napi::CallbackInfo& info);

}  // namespace aana
