#pragma once

#include <napi.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

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

// A typed array of the numbers.
template <class Array, class Item>
Array ToTypedArray(Napi::Env env, const std::vector<Item>& items) {
  auto array = Array::New(env, items.size());
  std::ranges::copy(items, array.Data());
  return array;
}

}  // namespace aana
