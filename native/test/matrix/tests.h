#pragma once

#include "core/compute/kernel_sets.h"

namespace aana::test {

void TestAttention(const compute::KernelSet& set);
void TestAttentionBlocks();
void TestAttentionGraphs();
void TestMemory();
void TestRandomGraphs();
void TestTeam();

}  // namespace aana::test
