#pragma once

#include <napi.h>

namespace aana {

// loadLlama(options, onEvents, onProgress): Promise<NativeLlamaEngine>, described in native/lib/binding.ts.
Napi::Value LoadLlama(const Napi::CallbackInfo& info);

}  // namespace aana
