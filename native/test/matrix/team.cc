// The threads that help with the parts of a step.
#include <array>
#include <atomic>
#include <string>

#include "../check.h"
#include "core/compute/device/work_team.h"
#include "tests.h"

namespace aana::test {
namespace {

using compute::WorkTeam;

constexpr int kMostParts = 17;

struct Piece {
  std::array<std::atomic<int>, kMostParts> done{};
  std::atomic<bool> has_other_size = false;
  int n_parts = 0;
};

// Gives the team many short pieces of work, some while it expects them and some while it sleeps.
void TestPieces(int n_helpers) {
  WorkTeam team(n_helpers);
  for (int i = 0; i < 20'000; i++) {
    team.SetExpecting(i % 100 < 90);
    Piece piece;
    piece.n_parts = 1 + i % kMostParts;
    team.Run(
        piece.n_parts,
        [](void* data, int part, int n_parts) {
          auto& its_piece = *static_cast<Piece*>(data);
          its_piece.done[static_cast<size_t>(part)]++;
          if (n_parts != its_piece.n_parts) its_piece.has_other_size = true;
        },
        &piece);
    Expect(!piece.has_other_size, "a part of another piece was done");
    for (int part = 0; part < kMostParts; part++) {
      const int n_done = piece.done[static_cast<size_t>(part)];
      Expect(n_done == (part < piece.n_parts ? 1 : 0),
             "part " + std::to_string(part) + " was done " + std::to_string(n_done) + " times");
    }
  }
}

}  // namespace

void TestTeam() {
  for (const int n_helpers : {0, 1, 3}) {
    Test("each part of short pieces of work is done once, with " + std::to_string(n_helpers) + " helpers",
         [n_helpers] { TestPieces(n_helpers); });
  }
}

}  // namespace aana::test
