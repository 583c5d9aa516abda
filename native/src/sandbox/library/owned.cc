#include "sandbox/library/owned.h"

namespace aana::sandbox {

std::string TakeMessage(wasmtime_error_t* error) {
  wasm_name_t text;
  wasmtime_error_message(error, &text);
  std::string message(text.data, text.size);
  wasm_byte_vec_delete(&text);
  wasmtime_error_delete(error);
  return message;
}

void Require(wasmtime_error_t* error, const std::string& what) {
  if (error) throw Refused(what + ": " + TakeMessage(error));
}

}  // namespace aana::sandbox
