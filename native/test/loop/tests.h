#pragma once

namespace aana::test {

void TestFairness();
void TestThreads();

}  // namespace aana::test
