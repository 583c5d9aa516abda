#pragma once

namespace aana::test {

void TestFairness();

}  // namespace aana::test
