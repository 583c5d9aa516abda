#pragma once

#include <napi.h>

#include <string>
#include <type_traits>
#include <utility>

#include "binding/values.h"

namespace aana {

// An error with the fields that callers read.
inline Napi::Value Failure(Napi::Env env, const char* code, const std::string& message,
                           Fault fault = Fault::kDeployment) {
  auto error = Napi::Error::New(env, message);
  error.Set("code", code);
  error.Set("fault", NameOf(fault));
  return error.Value();
}

// Runs `work()` on a thread of the pool. Returns a promise that `settle(deferred, result)` settles, or that rejects
// with a Failure `failed` when the work throws.
template <class Work, class Settle>
Napi::Promise RunWork(Napi::Env env, Work work, Settle settle) {
  class Worker : public Napi::AsyncWorker {
   public:
    Worker(Napi::Env env, Work work, Settle settle)
        : AsyncWorker(env), deferred(env), work_(std::move(work)), settle_(std::move(settle)) {}
    const Napi::Promise::Deferred deferred;

   private:
    void Execute() override { result_ = work_(); }
    void OnOK() override { settle_(deferred, result_); }
    void OnError(const Napi::Error& error) override { deferred.Reject(Failure(Env(), "failed", error.Message())); }

    Work work_;
    Settle settle_;
    std::invoke_result_t<Work> result_{};
  };
  auto* worker = new Worker(env, std::move(work), std::move(settle));  // deletes itself
  const auto promise = worker->deferred.Promise();
  worker->Queue();
  return promise;
}

}  // namespace aana
