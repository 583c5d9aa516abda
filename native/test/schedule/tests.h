#pragma once

namespace aana::test {

void TestCells();
void TestShares();
void TestSlots();

}  // namespace aana::test
