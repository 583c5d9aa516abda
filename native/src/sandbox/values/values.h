#pragma once

#include <cstddef>
#include <utility>

#include "sandbox/values/cbor.h"
#include "sandbox/values/types.h"

namespace aana::sandbox {

// A component value that is released with its owner, also when it is incomplete.
class Value {
 public:
  Value() : raw_{} {}
  ~Value() { wasmtime_component_val_delete(&raw_); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  wasmtime_component_val_t& raw() { return raw_; }
  // Gives the value away.
  wasmtime_component_val_t Release() { return std::exchange(raw_, wasmtime_component_val_t{}); }

 private:
  wasmtime_component_val_t raw_;
};

// How values are written in CBOR:
//
//   bool, integers, floats, string, enum  as they are        option   null or the value
//   char                                  text               result   {"ok": v} or {"err": v}; null where it has no
//   value list<u8>                              bytes              variant  {"tag": name} or {"tag": name, "val": v}
//   list, tuple                           array              flags    array of names, in the order of the type
//   record                                map by name        own, borrow  the number that the host gave the resource

// Writes a value. `type` must be its type. Throws `Refused` for a resource that is not the host's.
void WriteValue(CborWriter& out, const wasmtime_component_val_t& value, const Type& type, wasmtime_context_t* context);

// Most values of one answer with all of its lists, and most bytes of its `list<u8>`. A value takes 32 bytes of memory,
// and so does each of these bytes: 384 MiB for the most bytes, and as much again in the library.
inline constexpr size_t kMaxValues = size_t{1} << 22;
inline constexpr size_t kMaxListBytes = size_t{12} << 20;

// Reads a value into `out`, which must be empty. Throws `Malformed` when the bytes are no value of the type. `counts`
// has what was read so far: values, bytes of `list<u8>`, and resources that the guest gets.
struct ReadCounts {
  size_t values = 0;
  size_t bytes = 0;
  size_t owned = 0;
};
void ReadValue(CborReader& in, wasmtime_component_val_t& out, const Type& type, wasmtime_context_t* context,
               ReadCounts& counts);

// Makes the handle of a resource of the host. Throws `Refused`.
wasmtime_component_resource_any_t* MakeResource(wasmtime_context_t* context, bool is_owned, uint32_t number,
                                                uint32_t type);

}  // namespace aana::sandbox
