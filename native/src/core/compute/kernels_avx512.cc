// Compiled with options for AVX-512. It includes no header of the C++ library with templates, because the linker could
// take such a function from here for the rest of the program, which runs on other processors too.
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "core/compute/avx512_math.h"
#include "core/compute/dense_attention.h"
#include "core/compute/kernels.h"
#include "core/compute/q8_rows.h"

namespace aana::compute {

extern const Kernels kAvx512Kernels;

namespace {

constexpr int kGroupBytes = kLanes * static_cast<int>(kQ8Bytes);  // a block of 16 rows
constexpr int kScalesBytes = 2 * kLanes;                          // stand first in such a group
constexpr int kStepBytes = 4 * kLanes;                            // one instruction multiplies four values of each row
constexpr int kSteps = kBlock / 4;

float ToFloat(const uint8_t* half) {
  uint16_t bits;
  memcpy(&bits, half, sizeof bits);
  return _cvtsh_ss(bits);
}

// Bytes of a row of quantised values: the values, a scale for each block, and a correction for each block: -128 times
// the sum of its values, because VNNI multiplies unsigned by signed bytes and weights are greater by 128.
constexpr size_t RowBytes(int n_in) { return static_cast<size_t>(n_in) + static_cast<size_t>(n_in) / kBlock * 8; }

struct QuantisedRow {
  const int8_t* values;
  const float* scales;
  const int32_t* corrections;
};

QuantisedRow RowAt(const void* rows, int n_in, int row) {
  const auto* values = static_cast<const int8_t*>(rows) + RowBytes(n_in) * static_cast<size_t>(row);
  const auto* scales = reinterpret_cast<const float*>(values + n_in);
  return {values, scales, reinterpret_cast<const int32_t*>(scales + n_in / kBlock)};
}

void Quantise(const float* values, int n_in, int, int row, void* rows) {
  auto* to = static_cast<int8_t*>(rows) + RowBytes(n_in) * static_cast<size_t>(row);
  auto* scales = reinterpret_cast<float*>(to + n_in);
  auto* corrections = reinterpret_cast<int32_t*>(scales + n_in / kBlock);
  for (int block = 0; block < n_in / kBlock; block++) {
    const __m512 low = _mm512_loadu_ps(values + block * kBlock);
    const __m512 high = _mm512_loadu_ps(values + block * kBlock + kLanes);
    const float most = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)));
    const __m512 inverse = _mm512_set1_ps(most > 0 ? 127.0F / most : 0.0F);
    const __m512i low_values = _mm512_cvtps_epi32(_mm512_mul_ps(low, inverse));
    const __m512i high_values = _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + block * kBlock), _mm512_cvtsepi32_epi8(low_values));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + block * kBlock + kLanes), _mm512_cvtsepi32_epi8(high_values));
    scales[block] = most / 127.0F;
    corrections[block] = -128 * _mm512_reduce_add_epi32(_mm512_add_epi32(low_values, high_values));
  }
}

__m512i FourOfEach(const int8_t* values) {
  int32_t four;
  memcpy(&four, values, sizeof four);
  return _mm512_set1_epi32(four);
}

// Computes 16 outputs of R rows.
template <int R>
void MultiplyTile(const uint8_t* weights, const void* rows, int n_in, int first_row, float* out, size_t n_out) {
  QuantisedRow row[R];
  __m512 sums[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) {
    row[r] = RowAt(rows, n_in, first_row + r);
    sums[r] = _mm512_setzero_ps();
  }
  for (int block = 0; block < n_in / kBlock; block++) {
    const __m512 weight_scales = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
    __m512i values[kSteps];
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; i++) values[i] = _mm512_loadu_si512(weights + kScalesBytes + i * kStepBytes);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      __m512i sum = _mm512_set1_epi32(row[r].corrections[block]);
#pragma GCC unroll 8
      for (int i = 0; i < kSteps; i++)
        sum = _mm512_dpbusd_epi32(sum, values[i], FourOfEach(row[r].values + block * kBlock + 4 * i));
      sums[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                                _mm512_mul_ps(weight_scales, _mm512_set1_ps(row[r].scales[block])), sums[r]);
    }
    weights += kGroupBytes;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) _mm512_storeu_ps(out + static_cast<size_t>(first_row + r) * n_out, sums[r]);
}

using Tile = void (*)(const uint8_t*, const void*, int, int, float*, size_t);
constexpr int kTileRows = 16;
constexpr Tile kTiles[kTileRows] = {MultiplyTile<1>,  MultiplyTile<2>,  MultiplyTile<3>,  MultiplyTile<4>,
                                    MultiplyTile<5>,  MultiplyTile<6>,  MultiplyTile<7>,  MultiplyTile<8>,
                                    MultiplyTile<9>,  MultiplyTile<10>, MultiplyTile<11>, MultiplyTile<12>,
                                    MultiplyTile<13>, MultiplyTile<14>, MultiplyTile<15>, MultiplyTile<16>};

// One output of one row, whose weights are not packed.
float MultiplyLast(const uint8_t* weights, const void* rows, int n_in, int row) {
  const auto x = RowAt(rows, n_in, row);
  float sum = 0;
  for (int block = 0; block < n_in / kBlock; block++) {
    const auto* from = weights + static_cast<size_t>(block) * kQ8Bytes;
    const auto widened = [](const void* values) {
      return _mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(values)));
    };
    const int total = _mm512_reduce_add_epi32(_mm512_madd_epi16(widened(from + 2), widened(x.values + block * kBlock)));
    sum += static_cast<float>(total) * ToFloat(from) * x.scales[block];
  }
  return sum;
}

// Bytes of quantised rows that stay in the second cache while all weights pass.
constexpr size_t kPanelBytes = 512 * 1024;

void Multiply(const void* weights, const void* rows, int n_in, int n_out, int n_rows, int begin, int end, float* out) {
  const size_t group_bytes = static_cast<size_t>(n_in / kBlock) * kGroupBytes;
  int panel = static_cast<int>(kPanelBytes / RowBytes(n_in)) / kTileRows * kTileRows;
  if (panel < kTileRows) panel = kTileRows;
  for (int first = 0; first < n_rows; first += panel) {
    const int last = first + panel < n_rows ? first + panel : n_rows;
    int o = begin;
    for (; o + kLanes <= end; o += kLanes) {
      const auto* group = static_cast<const uint8_t*>(weights) + static_cast<size_t>(o / kLanes) * group_bytes;
      for (int row = first; row < last; row += kTileRows) {
        const int n = last - row < kTileRows ? last - row : kTileRows;
        kTiles[n - 1](group, rows, n_in, row, out + o, static_cast<size_t>(n_out));
      }
    }
    for (; o < end; o++) {
      const auto* weights_of_o =
          static_cast<const uint8_t*>(weights) + static_cast<size_t>(o) * static_cast<size_t>(n_in / kBlock) * kQ8Bytes;
      for (int row = first; row < last; row++)
        out[static_cast<size_t>(row) * static_cast<size_t>(n_out) + static_cast<size_t>(o)] =
            MultiplyLast(weights_of_o, rows, n_in, row);
    }
  }
}

constexpr int kVectors = kHead / kLanes;  // registers for 64 values

// out[r][c] is the sum of rows[r][i] * columns[i * 64 + c] over 64 values of i, for 64 of c. With `kAdds`, it is added
// to `out`.
template <bool kAdds>
void MultiplyGroup(const float* const* rows, const float* columns, float* const* out) {
  __m512 sums[kGroupRows][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kGroupRows; r++) {
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; c++) sums[r][c] = kAdds ? _mm512_loadu_ps(out[r] + c * kLanes) : _mm512_setzero_ps();
  }
  for (int i = 0; i < kHead; i++) {
    __m512 column[kVectors];
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; c++) column[c] = _mm512_loadu_ps(columns + i * kHead + c * kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < kGroupRows; r++) {
      const __m512 value = _mm512_set1_ps(rows[r][i]);
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; c++) sums[r][c] = _mm512_fmadd_ps(value, column[c], sums[r][c]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kGroupRows; r++) {
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; c++) _mm512_storeu_ps(out[r] + c * kLanes, sums[r][c]);
  }
}

// Turns `n` scores into weights and returns their sum. Values up to `n_padded` become 0.
float Softmax(float* scores, int n, int n_padded, float scale) {
  const __m512 least = _mm512_set1_ps(-INFINITY);
  const auto mask_at = [n](int i) { return FirstLanes(static_cast<size_t>(n - i)); };
  __m512 most = least;
  for (int i = 0; i < n; i += kLanes) most = _mm512_max_ps(most, _mm512_mask_loadu_ps(least, mask_at(i), scores + i));
  const __m512 offset = _mm512_set1_ps(-scale * _mm512_reduce_max_ps(most));
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < n; i += kLanes) {
    const __m512 score = _mm512_maskz_loadu_ps(mask_at(i), scores + i);
    const __m512 weight = _mm512_maskz_mov_ps(mask_at(i), Exp(_mm512_fmadd_ps(score, _mm512_set1_ps(scale), offset)));
    _mm512_storeu_ps(scores + i, weight);
    sum = _mm512_add_ps(sum, weight);
  }
  for (int i = (n + kLanes - 1) / kLanes * kLanes; i < n_padded; i += kLanes)
    _mm512_storeu_ps(scores + i, _mm512_setzero_ps());
  return _mm512_reduce_add_ps(sum);
}

void Scale(const float* from, float factor, float* to) {
  for (int c = 0; c < kHead; c += kLanes)
    _mm512_storeu_ps(to + c, _mm512_mul_ps(_mm512_loadu_ps(from + c), _mm512_set1_ps(factor)));
}

struct Avx512 {
  template <bool kAdds>
  static constexpr auto MultiplyGroup = compute::MultiplyGroup<kAdds>;
  static constexpr auto Softmax = compute::Softmax;
  static constexpr auto Scale = compute::Scale;
};

// Positions of keys and values: consecutive ones, or those that a list names.
struct Consecutive {
  size_t operator()(int t) const { return static_cast<size_t>(t); }
};
struct Listed {
  const int32_t* cells;
  size_t operator()(int t) const { return static_cast<size_t>(cells[t]); }
};

template <class Position>
void AttendOne(const float* q, const uint16_t* k, const uint16_t* v, size_t stride, Position position, int n,
               float* out, float* scores) {
  __m512 query[kVectors];
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; c++) query[c] = _mm512_loadu_ps(q + c * kLanes);
  for (int first = 0; first < n; first += kLanes) {
    __m512 products[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; i++) {
      const auto* key = k + position(first + i < n ? first + i : n - 1) * stride;
      products[i] = _mm512_mul_ps(query[0], Halves(key));
#pragma GCC unroll 3
      for (int c = 1; c < kVectors; c++) products[i] = _mm512_fmadd_ps(query[c], Halves(key + c * kLanes), products[i]);
    }
    _mm512_storeu_ps(scores + first, SumOfEach(products));
  }
  const float sum = Softmax(scores, n, n, 1.0F);
  __m512 even[kVectors];
  __m512 odd[kVectors];
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; c++) even[c] = odd[c] = _mm512_setzero_ps();
  for (int t = 0; t + 1 < n; t += 2) {
    const auto* value = v + position(t) * stride;
    const auto* next_value = v + position(t + 1) * stride;
    const __m512 weight = _mm512_set1_ps(scores[t]);
    const __m512 next_weight = _mm512_set1_ps(scores[t + 1]);
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; c++) {
      even[c] = _mm512_fmadd_ps(weight, Halves(value + c * kLanes), even[c]);
      odd[c] = _mm512_fmadd_ps(next_weight, Halves(next_value + c * kLanes), odd[c]);
    }
  }
  const __m512 last_weight = _mm512_set1_ps(n % 2 == 1 ? scores[n - 1] : 0.0F);
  const auto* last = v + position(n - 1) * stride;
  const __m512 factor = _mm512_set1_ps(1.0F / sum);
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; c++) {
    const __m512 total = _mm512_fmadd_ps(last_weight, Halves(last + c * kLanes), _mm512_add_ps(even[c], odd[c]));
    _mm512_storeu_ps(out + c * kLanes, _mm512_mul_ps(total, factor));
  }
}

void AttendCells(const float* q, const uint16_t* k, const uint16_t* v, size_t stride, const int32_t* cells, int n,
                 float* out, float* scores) {
  AttendOne(q, k, v, stride, Listed{cells}, n, out, scores);
}

void Widen(const uint16_t* halves, float* values) {
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; c++) _mm512_storeu_ps(values + c * kLanes, Halves(halves + c * kLanes));
}

// Sums of weighted values at even and at odd positions.
struct ValueSums {
  float even[kHead];
  float odd[kHead];
};

// Adds the weighted values of `n` positions, an even number of them.
void AddValues(const float* weights, const float* values, int n, ValueSums* sums) {
  __m512 even[kVectors];
  __m512 odd[kVectors];
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; c++) {
    even[c] = _mm512_loadu_ps(sums->even + c * kLanes);
    odd[c] = _mm512_loadu_ps(sums->odd + c * kLanes);
  }
  for (int i = 0; i < n; i += 2) {
    const __m512 weight = _mm512_set1_ps(weights[i]);
    const __m512 next_weight = _mm512_set1_ps(weights[i + 1]);
    const float* value = values + i * kHead;
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; c++) {
      even[c] = _mm512_fmadd_ps(weight, _mm512_loadu_ps(value + c * kLanes), even[c]);
      odd[c] = _mm512_fmadd_ps(next_weight, _mm512_loadu_ps(value + kHead + c * kLanes), odd[c]);
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; c++) {
    _mm512_storeu_ps(sums->even + c * kLanes, even[c]);
    _mm512_storeu_ps(sums->odd + c * kLanes, odd[c]);
  }
}

// Adds up in the order of AttendOne, so that the result for a token is the same whatever other tokens there are. Halves
// are read and widened once for all tokens, 16 positions at a time.
void AttendMany(const float* q, size_t q_stride, int n_queries, const uint16_t* k, const uint16_t* v, size_t stride,
                int n, float* out, float* scratch) {
  if (n_queries == 1) return AttendOne(q, k, v, stride, Consecutive{}, n, out, scratch);
  const auto n_padded = static_cast<size_t>((n + kLanes - 1) / kLanes * kLanes);
  auto* sums = reinterpret_cast<ValueSums*>(scratch);
  float* scores = scratch + static_cast<size_t>(n_queries) * 2 * kHead;
  float widened[kLanes * kHead];
  for (int first = 0; first < n; first += kLanes) {
    for (int i = 0; i < kLanes; i++)
      Widen(k + static_cast<size_t>(first + i < n ? first + i : n - 1) * stride, widened + i * kHead);
    for (int row = 0; row < n_queries; row++) {
      const float* query = q + static_cast<size_t>(row) * q_stride;
      __m512 products[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; i++) {
        products[i] = _mm512_mul_ps(_mm512_loadu_ps(query), _mm512_loadu_ps(widened + i * kHead));
#pragma GCC unroll 3
        for (int c = 1; c < kVectors; c++)
          products[i] = _mm512_fmadd_ps(_mm512_loadu_ps(query + c * kLanes),
                                        _mm512_loadu_ps(widened + i * kHead + c * kLanes), products[i]);
      }
      _mm512_storeu_ps(scores + static_cast<size_t>(row) * n_padded + first, SumOfEach(products));
    }
  }
  for (int row = 0; row < n_queries; row++) {
    // The sum of the weights waits in the place of the row's result.
    out[static_cast<size_t>(row) * q_stride] = Softmax(scores + static_cast<size_t>(row) * n_padded, n, n, 1.0F);
    memset(sums + row, 0, sizeof(ValueSums));
  }
  for (int first = 0; first < n / 2 * 2; first += kLanes) {
    const int count = n / 2 * 2 - first < kLanes ? n / 2 * 2 - first : kLanes;
    for (int i = 0; i < count; i++) Widen(v + static_cast<size_t>(first + i) * stride, widened + i * kHead);
    for (int row = 0; row < n_queries; row++)
      AddValues(scores + static_cast<size_t>(row) * n_padded + first, widened, count, sums + row);
  }
  const auto* last = v + static_cast<size_t>(n - 1) * stride;
  for (int row = 0; row < n_queries; row++) {
    float* to = out + static_cast<size_t>(row) * q_stride;
    const __m512 last_weight =
        _mm512_set1_ps(n % 2 == 1 ? scores[static_cast<size_t>(row) * n_padded + static_cast<size_t>(n) - 1] : 0.0F);
    const __m512 factor = _mm512_set1_ps(1.0F / to[0]);
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; c++) {
      const __m512 pairs =
          _mm512_add_ps(_mm512_loadu_ps(sums[row].even + c * kLanes), _mm512_loadu_ps(sums[row].odd + c * kLanes));
      _mm512_storeu_ps(to + c * kLanes,
                       _mm512_mul_ps(_mm512_fmadd_ps(last_weight, Halves(last + c * kLanes), pairs), factor));
    }
  }
}

void Gelu(const float* values, float* out, size_t n) {
  for (size_t i = 0; i < n; i += kLanes) {
    const auto mask = FirstLanes(n - i);
    const __m512 x = _mm512_maskz_loadu_ps(mask, values + i);
    // x (1 + tanh u) / 2 is x / (1 + e^-2u) with u = √(2/π) (x + 0.044715 x³).
    const __m512 inner = _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(0.044715F), _mm512_set1_ps(1.0F));
    const __m512 power = Exp(_mm512_mul_ps(_mm512_mul_ps(x, inner), _mm512_set1_ps(-2.0F * 0.79788456080286535588F)));
    _mm512_mask_storeu_ps(out + i, mask, _mm512_div_ps(x, _mm512_add_ps(power, _mm512_set1_ps(1.0F))));
  }
}

}  // namespace

const Kernels kAvx512Kernels = {Quantise, Multiply, AttendDensely<Avx512>, AttendMany, AttendCells, Gelu};

}  // namespace aana::compute
