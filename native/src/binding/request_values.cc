#include "binding/values.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

namespace aana {
namespace {

// Longer deadlines count as none.
constexpr double kMaxDeadlineMs = 1e12;
constexpr double kMinWeight = 0.001;
constexpr double kMaxWeight = 1000;

}  // namespace

RequestTerms ToRequestTerms(const Napi::Object& options) {
  const auto env = options.Env();
  RequestTerms terms;
  const auto tenant = options.Get("tenant");
  if (tenant.IsString())
    terms.tenant = tenant.As<Napi::String>();
  else if (!tenant.IsUndefined() && !tenant.IsNull())
    throw Napi::TypeError::New(env, "tenant is not a string");
  terms.cache_key = Has(options, "cacheKey") ? String(options, "cacheKey") : terms.tenant;

  const auto priority = options.Get("priority");
  if (!priority.IsUndefined()) {
    constexpr double kMin = std::numeric_limits<int32_t>::min();
    constexpr double kMax = std::numeric_limits<int32_t>::max();
    const double value = priority.IsNumber() ? priority.As<Napi::Number>().DoubleValue() : std::nan("");
    if (std::isnan(value)) throw Napi::TypeError::New(env, "priority is not a number");
    terms.priority = static_cast<int32_t>(std::clamp(value, kMin, kMax));
  }

  const auto weight = options.Get("weight");
  if (!weight.IsUndefined()) {
    terms.weight = weight.IsNumber() ? weight.As<Napi::Number>().DoubleValue() : std::nan("");
    if (!(terms.weight >= kMinWeight && terms.weight <= kMaxWeight))
      throw Napi::RangeError::New(env, "weight is not a number from 0.001 to 1000");
  }

  const auto deadline = options.Get("deadlineMs");
  if (!deadline.IsUndefined()) {
    const double ms = deadline.IsNumber() ? deadline.As<Napi::Number>().DoubleValue() : std::nan("");
    if (std::isnan(ms)) throw Napi::TypeError::New(env, "deadlineMs is not a number");
    if (ms < kMaxDeadlineMs)
      terms.deadline =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(std::max(ms, 0.0)));
  }
  return terms;
}

const char* NameOf(Fault fault) {
  static constexpr Named<Fault> kNames[] = {
      {"caller", Fault::kCaller},
      {"overload", Fault::kOverload},
      {"cancelled", Fault::kCancelled},
      {"deployment", Fault::kDeployment},
  };
  return NameOf(fault, kNames);
}

}  // namespace aana
