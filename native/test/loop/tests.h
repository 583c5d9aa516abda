#pragma once

namespace aana::test {

void TestFairness();
void TestInterruptions();
void TestThreads();

}  // namespace aana::test
