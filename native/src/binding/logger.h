#pragma once

#include <napi.h>

namespace aana {

// setLogger(listener): lines at info and above reach `listener` on the JavaScript thread. Does not keep the process alive.
Napi::Value SetLogger(const Napi::CallbackInfo& info);

}  // namespace aana
