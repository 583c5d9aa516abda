#include "binding/values.h"

#include <cmath>
#include <sstream>

namespace aana {

Napi::Object ToObject(Napi::Env env, Napi::Value value, const char* name) {
  if (!value.IsObject()) throw Napi::TypeError::New(env, std::string(name) + " is not an object");
  return value.As<Napi::Object>();
}

bool Has(const Napi::Object& object, const char* key) { return !object.Get(key).IsUndefined(); }

double Number(const Napi::Object& object, const char* key, double min, double max) {
  const auto value = object.Get(key);
  if (!value.IsNumber() || !std::isfinite(value.As<Napi::Number>().DoubleValue())) {
    throw Napi::TypeError::New(object.Env(), std::string(key) + " is not a finite number");
  }
  const double number = value.As<Napi::Number>().DoubleValue();
  if (number < min || number > max) {
    std::ostringstream message;
    message << key << " is not a number from " << min << " to " << max;
    throw Napi::RangeError::New(object.Env(), message.str());
  }
  return number;
}

int32_t Int(const Napi::Object& object, const char* key, int32_t min, int32_t max) {
  const double value = Number(object, key);
  if (value != std::floor(value) || value < min || value > max) {
    throw Napi::RangeError::New(object.Env(), std::string(key) + " is not a whole number from " + std::to_string(min) +
                                                  " to " + std::to_string(max));
  }
  return static_cast<int32_t>(value);
}

std::string String(const Napi::Object& object, const char* key) {
  const auto value = object.Get(key);
  if (!value.IsString()) throw Napi::TypeError::New(object.Env(), std::string(key) + " is not a string");
  return value.As<Napi::String>();
}

std::string OptionalString(const Napi::Object& object, const char* key) {
  return Has(object, key) ? String(object, key) : std::string();
}

std::optional<bool> OptionalBool(const Napi::Object& object, const char* key) {
  if (!Has(object, key)) return std::nullopt;
  const auto value = object.Get(key);
  if (!value.IsBoolean()) throw Napi::TypeError::New(object.Env(), std::string(key) + " is not a boolean");
  return value.As<Napi::Boolean>().Value();
}

std::vector<std::string> OptionalStrings(const Napi::Object& object, const char* key) {
  return OptionalList<std::string>(object, key, [&](const Napi::Value& item) -> std::string {
    if (!item.IsString())
      throw Napi::TypeError::New(object.Env(), std::string(key) + " has an item that is not a string");
    return item.As<Napi::String>();
  });
}

}  // namespace aana
