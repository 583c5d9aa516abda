#pragma once

namespace aana::test {

void TestCells();
void TestKeptStates();
void TestPromptCache();
void TestShares();
void TestSlots();
void TestStateParts();
void TestSteps();

}  // namespace aana::test
