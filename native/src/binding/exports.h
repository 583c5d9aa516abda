#pragma once

#include <napi.h>

// What the addon exports, described in native/lib/binding.
namespace aana {

// setLogger(listener): calls `listener` on the JavaScript thread with lines of level info and above. Does not keep the
// process alive.
Napi::Value SetLogger(const Napi::CallbackInfo& info);
// loadLlama(options, onEvent, onProgress): Promise<NativeLlamaEngine>
Napi::Value LoadLlama(const Napi::CallbackInfo& info);
// loadLlamaEmbedding(options, onEvent, onProgress): Promise<NativeLlamaEmbeddingEngine>
Napi::Value LoadLlamaEmbedding(const Napi::CallbackInfo& info);
// loadVoiceDetector(modelPath): Promise<NativeVoiceDetector>
Napi::Value LoadVoiceDetector(const Napi::CallbackInfo& info);
// loadWhisper(options): Promise<NativeWhisperEngine>
Napi::Value LoadWhisper(const Napi::CallbackInfo& info);

}  // namespace aana
