#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Vectors of the width for which the including file is compiled: 16 floats with AVX-512, 8 with AVX2. The operators of
// the compiler compute with floats. All kernels are one text over these vectors. Each name is in a namespace without a
// name, so that no function is taken for another file, which is compiled for another width.
namespace aana::compute {
namespace {

// Of functions whose vectors stay in registers.
#define AANA_INLINE __attribute__((always_inline)) inline

#ifdef __AVX512F__

using Floats = __m512;
using Words = __m512i;      // numbers of 32 bits, or four times as many bytes
constexpr int kWidth = 16;  // floats of a vector

AANA_INLINE Floats Load(const float* from) { return _mm512_loadu_ps(from); }
AANA_INLINE Words LoadWords(const uint8_t* from) { return _mm512_loadu_si512(from); }
AANA_INLINE Floats Load(const uint16_t* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
AANA_INLINE void Store(float* to, Floats values) { _mm512_storeu_ps(to, values); }
AANA_INLINE void Store(uint16_t* to, Floats values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}
// Stores the floats whose bit is set in `lanes`.
AANA_INLINE void StoreLanes(float* to, unsigned lanes, Floats values) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes), values);
}
// Stores 32 numbers from -128 to 127.
AANA_INLINE void StoreBytes(uint8_t* to, const Words* numbers) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtsepi32_epi8(numbers[0]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16), _mm512_cvtsepi32_epi8(numbers[1]));
}

AANA_INLINE Floats AllOf(float value) { return _mm512_set1_ps(value); }
AANA_INLINE Words AllOf(int32_t value) { return _mm512_set1_epi32(value); }
AANA_INLINE Words AllBytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }

// a * b + c, rounded once.
AANA_INLINE Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
AANA_INLINE Floats Least(Floats a, Floats b) { return _mm512_min_ps(a, b); }
AANA_INLINE Floats Most(Floats a, Floats b) { return _mm512_max_ps(a, b); }
AANA_INLINE Floats SizesOf(Floats values) { return _mm512_abs_ps(values); }
AANA_INLINE Floats Rounded(Floats values) {
  return _mm512_roundscale_ps(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// values * 2^powers for whole powers from -126 to 127.
AANA_INLINE Floats TimesPowerOfTwo(Floats values, Floats powers) { return _mm512_scalef_ps(values, powers); }
// `values` where a > b, and 0 elsewhere.
AANA_INLINE Floats WhereGreater(Floats a, Floats b, Floats values) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), values);
}
AANA_INLINE Words ToWords(Floats values) { return _mm512_cvtps_epi32(values); }
AANA_INLINE Floats ToFloats(Words values) { return _mm512_cvtepi32_ps(values); }

AANA_INLINE Words Add(Words a, Words b) { return _mm512_add_epi32(a, b); }
AANA_INLINE Words ShiftLeft(Words values, unsigned n) { return _mm512_slli_epi16(values, n); }
AANA_INLINE Words ShiftRight(Words values, unsigned n) { return _mm512_srli_epi16(values, n); }
// `low` with the bits of `high` in `mask` added.
AANA_INLINE Words WithBits(Words low, Words high, Words mask) {
  return _mm512_ternarylogic_epi32(low, high, mask, 0xF8);
}

AANA_INLINE float LargestOf(Floats values) { return _mm512_reduce_max_ps(values); }
AANA_INLINE float SumOf(Floats values) { return _mm512_reduce_add_ps(values); }
AANA_INLINE int SumOf(Words values) { return _mm512_reduce_add_epi32(values); }
// The sum of each of four vectors.
AANA_INLINE __m128 SumOfEach(const Floats* v) {
  const Floats low = _mm512_unpacklo_ps(v[0], v[1]) + _mm512_unpackhi_ps(v[0], v[1]);
  const Floats high = _mm512_unpacklo_ps(v[2], v[3]) + _mm512_unpackhi_ps(v[2], v[3]);
  // Each 128 bits have a part of the four sums.
  const Floats parts = _mm512_shuffle_ps(low, high, 0x44) + _mm512_shuffle_ps(low, high, 0xEE);
  const __m256 pairs = _mm512_castps512_ps256(_mm512_shuffle_f32x4(parts, parts, 0x88)) +
                       _mm512_castps512_ps256(_mm512_shuffle_f32x4(parts, parts, 0xDD));
  return _mm256_castps256_ps128(pairs) + _mm256_extractf128_ps(pairs, 1);
}

#else

using Floats = __m256;
using Words = __m256i;     // numbers of 32 bits, or four times as many bytes
constexpr int kWidth = 8;  // floats of a vector

AANA_INLINE Floats Load(const float* from) { return _mm256_loadu_ps(from); }
AANA_INLINE Words LoadWords(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
AANA_INLINE Floats Load(const uint16_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
AANA_INLINE void Store(float* to, Floats values) { _mm256_storeu_ps(to, values); }
AANA_INLINE void Store(uint16_t* to, Floats values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}
// Stores the floats whose bit is set in `lanes`.
AANA_INLINE void StoreLanes(float* to, unsigned lanes, Floats values) {
  const Words bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  _mm256_maskstore_ps(to, _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(lanes)), bits), bits),
                      values);
}
// Stores 32 numbers from -128 to 127.
AANA_INLINE void StoreBytes(uint8_t* to, const Words* numbers) {
  const Words bytes =
      _mm256_packs_epi16(_mm256_packs_epi32(numbers[0], numbers[1]), _mm256_packs_epi32(numbers[2], numbers[3]));
  // Packing mixes the halves of vectors; the permutation puts each four numbers to their place.
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

AANA_INLINE Floats AllOf(float value) { return _mm256_set1_ps(value); }
AANA_INLINE Words AllOf(int32_t value) { return _mm256_set1_epi32(value); }
AANA_INLINE Words AllBytes(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }

// a * b + c, rounded once.
AANA_INLINE Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
AANA_INLINE Floats Least(Floats a, Floats b) { return _mm256_min_ps(a, b); }
AANA_INLINE Floats Most(Floats a, Floats b) { return _mm256_max_ps(a, b); }
AANA_INLINE Floats SizesOf(Floats values) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), values); }
AANA_INLINE Floats Rounded(Floats values) {
  return _mm256_round_ps(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// values * 2^powers for whole powers from -126 to 127.
AANA_INLINE Floats TimesPowerOfTwo(Floats values, Floats powers) {
  const Words exponents = _mm256_add_epi32(_mm256_cvtps_epi32(powers), _mm256_set1_epi32(127));
  return values * _mm256_castsi256_ps(_mm256_slli_epi32(exponents, 23));
}
// `values` where a > b, and 0 elsewhere.
AANA_INLINE Floats WhereGreater(Floats a, Floats b, Floats values) {
  return _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ), values);
}
AANA_INLINE Words ToWords(Floats values) { return _mm256_cvtps_epi32(values); }
AANA_INLINE Floats ToFloats(Words values) { return _mm256_cvtepi32_ps(values); }

AANA_INLINE Words Add(Words a, Words b) { return _mm256_add_epi32(a, b); }
AANA_INLINE Words ShiftLeft(Words values, unsigned n) { return _mm256_slli_epi16(values, static_cast<int>(n)); }
AANA_INLINE Words ShiftRight(Words values, unsigned n) { return _mm256_srli_epi16(values, static_cast<int>(n)); }
// `low` with the bits of `high` in `mask` added.
AANA_INLINE Words WithBits(Words low, Words high, Words mask) {
  return _mm256_or_si256(low, _mm256_and_si256(high, mask));
}

AANA_INLINE float LargestOf(Floats values) {
  __m128 most = _mm_max_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  most = _mm_max_ps(most, _mm_movehl_ps(most, most));
  return _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
}
AANA_INLINE float SumOf(Floats values) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}
AANA_INLINE int SumOf(Words values) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1)));
}
// The sum of each of four vectors.
AANA_INLINE __m128 SumOfEach(const Floats* v) {
  const Floats parts = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  return _mm256_castps256_ps128(parts) + _mm256_extractf128_ps(parts, 1);
}

#endif

AANA_INLINE Floats FloatOfEach(const uint8_t* bytes) {
  float value;
  memcpy(&value, bytes, sizeof value);
  return AllOf(value);
}
AANA_INLINE Words FourOfEach(const uint8_t* bytes) {
  int32_t four;
  memcpy(&four, bytes, sizeof four);
  return AllOf(four);
}

// e^x for x from -87 to 88, with an error of 2 units in the last place. Source: expf of the Cephes library, Stephen L.
// Moshier (1992).
AANA_INLINE Floats Exp(Floats x) {
  x = Most(Least(x, AllOf(88.0F)), AllOf(-87.0F));
  const Floats n = Rounded(x * AllOf(1.44269504088896341F));
  const Floats r = MultiplyAdd(n, AllOf(2.12194440e-4F), MultiplyAdd(n, AllOf(-0.693359375F), x));
  Floats p = AllOf(1.9875691500e-4F);
  p = MultiplyAdd(p, r, AllOf(1.3981999507e-3F));
  p = MultiplyAdd(p, r, AllOf(8.3334519073e-3F));
  p = MultiplyAdd(p, r, AllOf(4.1665795894e-2F));
  p = MultiplyAdd(p, r, AllOf(1.6666665459e-1F));
  p = MultiplyAdd(p, r, AllOf(5.0000001201e-1F));
  return TimesPowerOfTwo(MultiplyAdd(p, r * r, r) + AllOf(1.0F), n);
}

}  // namespace
}  // namespace aana::compute
