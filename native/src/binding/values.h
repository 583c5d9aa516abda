#pragma once

#include <napi.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/request_terms.h"

// Reads fields of objects from JavaScript. All throw a Napi::TypeError or Napi::RangeError that names the field.
namespace aana {

Napi::Object ToObject(Napi::Env env, Napi::Value value, const char* name);
bool Has(const Napi::Object& object, const char* key);
// From `min` to `max`.
double Number(const Napi::Object& object, const char* key, double min = std::numeric_limits<double>::lowest(),
              double max = std::numeric_limits<double>::max());
int32_t Int(const Napi::Object& object, const char* key, int32_t min,
            int32_t max = std::numeric_limits<int32_t>::max());
std::string String(const Napi::Object& object, const char* key);

// The items of a list that may be absent.
template <class Item, class Read>
std::vector<Item> OptionalList(const Napi::Object& object, const char* key, Read read) {
  std::vector<Item> items;
  const auto value = object.Get(key);
  if (value.IsUndefined()) return items;
  if (!value.IsArray()) throw Napi::TypeError::New(object.Env(), std::string(key) + " is not an array");
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) items.push_back(read(array.Get(i)));
  return items;
}
std::vector<std::string> OptionalStrings(const Napi::Object& object, const char* key);
std::string OptionalString(const Napi::Object& object, const char* key);
std::optional<bool> OptionalBool(const Napi::Object& object, const char* key);

// A value and its name in JavaScript.
template <class Value>
struct Named {
  const char* name;
  Value value;
};

template <class Value, size_t n>
const char* NameOf(Value value, const Named<Value> (&names)[n]) {
  const auto* const found = std::ranges::find(names, value, &Named<Value>::value);
  return found == std::end(names) ? names[n - 1].name : found->name;
}

template <class Value, size_t n>
Value FromName(const Napi::Object& object, const char* key, const Named<Value> (&names)[n]) {
  const auto given = String(object, key);
  auto message = std::string(key) + " must be ";
  for (size_t i = 0; i < n; i++) {
    if (given == names[i].name) return names[i].value;
    message += (i == 0 ? "" : i + 1 < n ? ", " : " or ") + std::string(names[i].name);
  }
  throw Napi::TypeError::New(object.Env(), message);
}

const char* NameOf(Fault fault);

// The array of `convert(item)` for each item.
template <class Items, class Convert>
Napi::Array ToArray(Napi::Env env, const Items& items, Convert convert) {
  auto array = Napi::Array::New(env, items.size());
  uint32_t index = 0;
  for (const auto& item : items) array.Set(index++, convert(item));
  return array;
}

inline Napi::Buffer<char> ToBuffer(Napi::Env env, std::string_view bytes) {
  return Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size());
}

// Reads `tenant`, `priority`, `weight` and `deadlineMs` of a request's options. Each is optional.
RequestTerms ToRequestTerms(const Napi::Object& options);

// A typed array of the numbers.
template <class Array, class Item>
Array ToTypedArray(Napi::Env env, const std::vector<Item>& items) {
  auto array = Array::New(env, items.size());
  std::ranges::copy(items, array.Data());
  return array;
}

}  // namespace aana
