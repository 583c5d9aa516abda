#pragma once

#include <napi.h>

namespace aana {

// loadLlama(options, onEvents, onProgress): Promise<NativeLlamaEngine>, as native/lib/binding.ts describes.
Napi::Value LoadLlama(const Napi::CallbackInfo& info);

}  // namespace aana
