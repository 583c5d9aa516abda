#pragma once

#include <napi.h>

#include "core/request_terms.h"

// Values that requests of both engines share, described in native/lib/binding.ts.
namespace aana {

// Reads `tenant`, `priority`, `weight` and `deadlineMs` of a request's options. Each is optional. Throws a Napi::Error
// for a value of the wrong type.
RequestTerms ToRequestTerms(const Napi::Object& options);

const char* NameOf(Fault fault);

}  // namespace aana
