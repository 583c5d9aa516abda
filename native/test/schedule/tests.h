#pragma once

namespace aana::test {

void TestCells();
void TestShares();
void TestSlots();
void TestSteps();

}  // namespace aana::test
