#include "core/llama/vision/shared_copies.h"

#include <array>
#include <cstdint>

#include "../check.h"
#include "tests.h"

namespace aana::test {

void TestSharedCopies() {
  const std::array<uint8_t, 3> red{255, 0, 0};
  const std::array<uint8_t, 3> blue{0, 0, 255};

  Test("requests at the same time share the copy of an image", [&] {
    llama::SharedCopies<uint8_t> copies;
    const auto one = copies.Of({1}, red.data(), red.size());
    Expect(copies.Of({1}, red.data(), red.size()) == one, "the second request has another copy");
    const auto other = copies.Of({2}, blue.data(), blue.size());
    Expect(other != one && (*other)[2] == 255 && (*one)[2] == 0, "another image has the same copy");
    Expect(one.use_count() == 1, "a copy outlives its requests");
  });

  Test("an image that nobody uses any more is copied again", [&] {
    llama::SharedCopies<uint8_t> copies;
    copies.Of({1}, red.data(), red.size());
    const auto again = copies.Of({1}, blue.data(), blue.size());
    Expect((*again)[2] == 255, "it has the values of an old copy");
  });

  Test("images of different lengths are different, whatever their digests", [&] {
    llama::SharedCopies<uint8_t> copies;
    const auto one = copies.Of({1}, red.data(), red.size());
    Expect(copies.Of({1}, red.data(), 2)->size() == 2 && one->size() == 3, "they share a copy");
  });
}

}  // namespace aana::test
