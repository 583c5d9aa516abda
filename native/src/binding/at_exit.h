#pragma once

#include <napi.h>

namespace aana {

// Calls `function(data)` once, on JavaScript's thread, before the environment ends: when the process or the worker
// exits or the worker is terminated. The function added last is called first. Node's own cleanup hooks do not run after
// process.exit(), so the libraries' static objects would be destroyed while threads use them. Call this after creating
// the thread-safe functions that `function` releases.
void AddAtExit(Napi::Env env, void (*function)(void* data), void* data);
void RemoveAtExit(Napi::Env env, void (*function)(void* data), void* data);

}  // namespace aana
