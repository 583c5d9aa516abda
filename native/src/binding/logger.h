#pragma once

#include <napi.h>

namespace aana {

// setLogger(listener): calls `listener` on the JavaScript thread with lines of level info and above. Does not keep the
// process alive.
Napi::Value SetLogger(const Napi::CallbackInfo& info);

}  // namespace aana
