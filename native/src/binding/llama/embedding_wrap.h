#pragma once

#include <napi.h>

namespace aana {

// loadLlamaEmbedding(options, onEvents, onProgress): Promise<NativeLlamaEmbeddingEngine>, described in
// native/lib/binding.ts.
Napi::Value LoadLlamaEmbedding(const Napi::CallbackInfo& info);

}  // namespace aana
