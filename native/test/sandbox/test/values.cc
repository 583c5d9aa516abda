#include "sandbox/values/values.h"

#include <random>

#include "../../check.h"
#include "tests.h"

namespace aana::test {

using namespace sandbox;

namespace {

Type Plain(uint8_t kind) {
  Type type;
  type.kind = kind;
  return type;
}
Type With(uint8_t kind, std::vector<std::string> names, std::vector<std::optional<Type>> of) {
  Type type = Plain(kind);
  type.names = std::move(names);
  type.of = std::move(of);
  return type;
}

// A type with all kinds but resources.
Type Everything() {
  const Type text = Plain(kString);
  const Type list = With(kList, {}, {text});
  const Type variant = With(kVariant, {"none", "some"}, {std::nullopt, With(kOption, {}, {Plain(kF64)})});
  const Type result = With(kResult, {}, {With(kTuple, {}, {Plain(kS8), Plain(kU64), Plain(kChar)}), std::nullopt});
  return With(kRecord, {"text", "list", "bytes", "variant", "result", "flags", "enum", "bool"},
              {text, list, With(kList, {}, {Plain(kU8)}), With(kList, {}, {variant}), With(kList, {}, {result}),
               With(kFlags, {"a", "b", "c"}, {}), With(kEnum, {"x", "y"}, {}), Plain(kBool)});
}

std::string Encoded() {
  std::string bytes;
  CborWriter out(bytes);
  out.Map(8);
  out.Text("text");
  out.Text("häuser");
  out.Text("list");
  out.Array(2);
  out.Text("");
  out.Text("b");
  out.Text("bytes");
  out.Bytes(std::string_view("\0\xff", 2));
  out.Text("variant");
  out.Array(3);
  out.Map(1);
  out.Text("tag");
  out.Text("none");
  out.Map(2);
  out.Text("tag");
  out.Text("some");
  out.Text("val");
  out.Null();
  out.Map(2);
  out.Text("tag");
  out.Text("some");
  out.Text("val");
  out.Number(0.5);
  out.Text("result");
  out.Array(2);
  out.Map(1);
  out.Text("ok");
  out.Array(3);
  out.Integer(-128);
  out.Unsigned(UINT64_MAX);
  out.Text("€");
  out.Map(1);
  out.Text("err");
  out.Null();
  out.Text("flags");
  out.Array(2);
  out.Text("a");
  out.Text("c");
  out.Text("enum");
  out.Text("y");
  out.Text("bool");
  out.Bool(true);
  return bytes;
}

// Reads bytes as a value and writes it again. Throws when they are none.
std::string Again(std::string_view bytes, const Type& type) {
  Value value;
  ReadCounts counts;
  CborReader in(bytes);
  ReadValue(in, value.raw(), type, nullptr, counts);
  in.End();
  std::string again;
  CborWriter out(again);
  WriteValue(out, value.raw(), type, nullptr);
  return again;
}

}  // namespace

void TestValues() {
  Test("a value of all kinds is written as it was read",
       [] { Expect(Again(Encoded(), Everything()) == Encoded(), "it differs"); });
  Test("values that are cut or changed are refused or are values, and nothing of them is lost", [] {
    const auto type = Everything();
    const auto good = Encoded();
    for (size_t length = 0; length < good.size(); length++) {
      bool is_refused = false;
      try {
        Again(good.substr(0, length), type);
      } catch (const Malformed&) {
        is_refused = true;
      }
      Expect(is_refused, "cut after " + std::to_string(length) + " bytes");
    }
    std::mt19937 random(7);
    size_t refused = 0;
    for (int i = 0; i < 20'000; i++) {
      auto bytes = good;
      for (int changes = static_cast<int>(random() % 3); changes >= 0; changes--)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      try {
        // A whole number may have been written as a float, and is an integer from then on.
        const auto again = Again(bytes, type);
        Expect(Again(again, type) == again, "change " + std::to_string(i));
      } catch (const Malformed&) {
        refused++;
      }
    }
    Expect(refused > 10'000, "only " + std::to_string(refused) + " were refused");
  });
  Test("an answer has a limited number of bytes in lists", [] {
    std::string bytes;
    CborWriter(bytes).Bytes(std::string(kMaxListBytes + 1, 'a'));
    try {
      Again(bytes, With(kList, {}, {Plain(kU8)}));
    } catch (const Malformed&) {
      return;
    }
    Expect(false, "it was read");
  });
}

}  // namespace aana::test
