#pragma once

#include <napi.h>

namespace aana {

// loadWhisper(options): a promise of the engine. It rejects with an Error that names the file.
Napi::Value LoadWhisper(const Napi::CallbackInfo& info);

}  // namespace aana
