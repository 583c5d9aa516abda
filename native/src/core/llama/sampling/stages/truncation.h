#pragma once

#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

// Each leaves at least one candidate, and looks at the probabilities among the candidates that are left.

// Keeps candidates whose surprise is closest to the expected one, until they have the probability `typical_p` together,
// in that order. Meister et al. 2022, "Locally typical sampling".
void Typical(Candidates& candidates, float typical_p);

// Keeps the likeliest until they have the probability `top_p` together.
void TopP(Candidates& candidates, float top_p);

// Keeps candidates at least `min_p` times as likely as the likeliest.
void MinP(Candidates& candidates, float min_p);

// Takes all candidates of at least the probability `threshold` away but for the unlikeliest of them.
void ExcludeTopChoices(Candidates& candidates, float threshold);

}  // namespace aana::llama
