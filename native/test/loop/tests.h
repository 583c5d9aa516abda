#pragma once

namespace aana::test {

void TestEncoder();
void TestFairness();
void TestInterruptions();
void TestPauses();
void TestThreads();

}  // namespace aana::test
