#pragma once

#include <immintrin.h>
#include <stdint.h>

// Functions of the files that are compiled for AVX2. They are static, so that none of them is taken for another file.
namespace aana::compute {

// e^x for x from -87 to 88, with an error of 2 units in the last place. Source: expf of the Cephes library, Stephen L.
// Moshier (1992).
static inline __m256 Exp(__m256 x) {
  x = _mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(88.0F)), _mm256_set1_ps(-87.0F));
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504088896341F)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256 r =
      _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x));
  __m256 p = _mm256_set1_ps(1.9875691500e-4F);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1F));
  const __m256 y = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0F));
  // 2^n, whose exponent is from 1 to 254.
  const __m256i exponents = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_mul_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(exponents, 23)));
}

static inline float LargestOf(__m256 values) {
  __m128 most = _mm_max_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  most = _mm_max_ps(most, _mm_movehl_ps(most, most));
  return _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
}

static inline float SumOf(__m256 values) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

// Returns the sum of each of four vectors.
static inline __m128 SumOfEach(const __m256* vectors) {
  const __m256 parts = _mm256_hadd_ps(_mm256_hadd_ps(vectors[0], vectors[1]), _mm256_hadd_ps(vectors[2], vectors[3]));
  return _mm_add_ps(_mm256_castps256_ps128(parts), _mm256_extractf128_ps(parts, 1));
}

// Returns 8 halves.
static inline __m256 Halves(const void* values) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(values)));
}

}  // namespace aana::compute
