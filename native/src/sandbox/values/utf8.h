#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aana::sandbox {

// Whether a text is UTF-8 without surrogates, overlong forms and numbers above U+10FFFF.
bool IsUtf8(std::string_view text);

// Whether the number is a Unicode scalar value.
constexpr bool IsScalar(uint32_t code) { return code < 0xd800 || (code > 0xdfff && code < 0x110000); }

// Appends a scalar value in UTF-8.
void AppendUtf8(std::string& out, uint32_t code);

// The only scalar value of a text that is UTF-8. Returns a number that is none when the text has none or several.
uint32_t OnlyScalar(std::string_view text);

}  // namespace aana::sandbox
