#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

// Functions of the files that are compiled for AVX-512. They are static, so that none of them is taken for another
// file.
namespace aana::compute {

// e^x for x from -87 to 88, with an error of 2 units in the last place. Source: expf of the Cephes library, Stephen L.
// Moshier (1992).
static inline __m512 Exp(__m512 x) {
  x = _mm512_max_ps(_mm512_min_ps(x, _mm512_set1_ps(88.0F)), _mm512_set1_ps(-87.0F));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896341F)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 r =
      _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x));
  __m512 p = _mm512_set1_ps(1.9875691500e-4F);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1F));
  const __m512 y = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0F));
  return _mm512_scalef_ps(y, n);
}

// Selects the first `n` lanes.
static inline __mmask16 FirstLanes(size_t n) {
  return n >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1U << n) - 1);
}

// Returns the sum of each of 16 vectors.
static inline __m512 SumOfEach(const __m512* vectors) {
  __m512 fours[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const __m512* v = vectors + 4 * i;
    const __m512 low = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
    const __m512 high = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
    // Each 128 bits have a part of the sums of four vectors.
    fours[i] = _mm512_add_ps(_mm512_shuffle_ps(low, high, 0x44), _mm512_shuffle_ps(low, high, 0xEE));
  }
  const __m512 first =
      _mm512_add_ps(_mm512_shuffle_f32x4(fours[0], fours[1], 0x88), _mm512_shuffle_f32x4(fours[0], fours[1], 0xDD));
  const __m512 second =
      _mm512_add_ps(_mm512_shuffle_f32x4(fours[2], fours[3], 0x88), _mm512_shuffle_f32x4(fours[2], fours[3], 0xDD));
  return _mm512_add_ps(_mm512_shuffle_f32x4(first, second, 0x88), _mm512_shuffle_f32x4(first, second, 0xDD));
}

// Returns 16 halves.
static inline __m512 Halves(const uint16_t* values) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(values)));
}

}  // namespace aana::compute
