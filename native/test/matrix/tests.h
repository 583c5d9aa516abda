#pragma once

namespace aana::test {

void TestAttention();

}  // namespace aana::test
