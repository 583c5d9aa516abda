#include "sandbox/values/cbor.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "../../check.h"
#include "sandbox/values/utf8.h"
#include "tests.h"

namespace aana::test {

using sandbox::CborReader;
using sandbox::CborWriter;
using sandbox::Malformed;

namespace {

template <class Read>
void ExpectMalformed(std::string_view bytes, Read read, const std::string& what) {
  try {
    CborReader in(bytes);
    read(in);
    in.End();
  } catch (const Malformed&) {
    return;
  }
  Expect(false, what + " was read");
}

}  // namespace

void TestCbor() {
  Test("integers of all lengths are read as they were written", [] {
    for (const int64_t number :
         {int64_t{0}, int64_t{23}, int64_t{24}, int64_t{255}, int64_t{256}, int64_t{65535}, int64_t{65536},
          int64_t{4294967295}, int64_t{4294967296}, INT64_MAX, int64_t{-1}, int64_t{-24}, int64_t{-25}, INT64_MIN}) {
      std::string bytes;
      CborWriter(bytes).Integer(number);
      CborReader in(bytes);
      Expect(in.Integer(INT64_MIN, INT64_MAX) == number, std::to_string(number));
      in.End();
    }
  });
  Test("floats are read as they were written", [] {
    for (const double number :
         {0.0, -0.0, 0.1, -2.5, 1e300, 9007199254740991.0, 1e17, std::numeric_limits<double>::infinity(), 5e-324}) {
      std::string bytes;
      CborWriter(bytes).Number(number);
      CborReader in(bytes);
      const double read = in.Number();
      Expect(read == number && std::signbit(read) == std::signbit(number), std::to_string(number));
    }
    std::string bytes;
    CborWriter(bytes).Number(std::nan(""));
    Expect(std::isnan(CborReader(bytes).Number()), "not a number");
  });
  Test("what is cut, too long, of another type or out of range is refused", [] {
    using namespace std::literals;
    ExpectMalformed(""sv, [](auto& in) { in.Unsigned(); }, "nothing");
    ExpectMalformed("\x19\x01"sv, [](auto& in) { in.Unsigned(); }, "a cut number");
    ExpectMalformed("\x18\x17"sv, [](auto& in) { in.Unsigned(); }, "a number that is longer than necessary");
    ExpectMalformed("\x19\x00\xff"sv, [](auto& in) { in.Unsigned(); }, "a number that is longer than necessary");
    ExpectMalformed("\x1f"sv, [](auto& in) { in.Unsigned(); }, "a number without end");
    ExpectMalformed(
        "\x63"
        "ab"sv,
        [](auto& in) { in.Text(); }, "a cut text");
    ExpectMalformed(
        "\x7f\x61"
        "a\xff"sv,
        [](auto& in) { in.Text(); }, "a text without length");
    ExpectMalformed("\x62\xc0\x80"sv, [](auto& in) { in.Text(); }, "a text that is not UTF-8");
    ExpectMalformed("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"sv, [](auto& in) { in.Array(); }, "an endless array");
    ExpectMalformed(
        "\x41"
        "a"sv,
        [](auto& in) { in.Text(); }, "bytes for a text");
    ExpectMalformed("\xf6"sv, [](auto& in) { in.Bool(); }, "null for a boolean");
    ExpectMalformed("\x19\x01\x00"sv, [](auto& in) { in.Integer(0, 255); }, "256 for a byte");
    ExpectMalformed("\x3b\xff\xff\xff\xff\xff\xff\xff\xff"sv, [](auto& in) { in.Integer(INT64_MIN, 0); }, "-2^64");
    ExpectMalformed("\x01\x01"sv, [](auto& in) { in.Unsigned(); }, "a second value");
  });
  Test("UTF-8 has no surrogates, overlong forms and numbers above U+10FFFF", [] {
    // Texts of all lengths around eight bytes, which are looked at together.
    const auto all = [](const std::string& part, bool is_utf8) {
      for (size_t before = 0; before < 10; before++)
        for (size_t after = 0; after < 10; after++)
          Expect(sandbox::IsUtf8(std::string(before, 'a') + part + std::string(after, 'a')) == is_utf8, part);
    };
    for (const char* good :
         {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
      all(good, true);
    for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xff", "\xe2\x82"})
      all(bad, false);
  });
  Test("a character is one scalar value", [] {
    for (const uint32_t code : {0x24U, 0xe4U, 0x20acU, 0x1f600U, 0x10ffffU}) {
      std::string text;
      sandbox::AppendUtf8(text, code);
      Expect(sandbox::OnlyScalar(text) == code, std::to_string(code));
    }
    Expect(!sandbox::IsScalar(sandbox::OnlyScalar("")), "no character");
    Expect(!sandbox::IsScalar(sandbox::OnlyScalar("ab")), "two characters");
  });
}

}  // namespace aana::test
