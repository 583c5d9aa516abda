#pragma once

#include <napi.h>

#include "core/request_terms.h"

// What requests to both engines have in common, as native/lib/binding.ts has it.
namespace aana {

// `tenant`, `priority` and `deadlineMs` of a request's options; each may be absent. Throws a Napi::Error for a value of the wrong type.
RequestTerms ToRequestTerms(const Napi::Object& options);

const char* NameOf(Fault fault);

}  // namespace aana
