// Compiled with options for AVX-512. It includes no header of the C++ library with templates, because the linker could
// take such a function from here for the rest of the program, which runs on other processors too.
#include <immintrin.h>
#include <string.h>

#include "core/compute/matrix/matrix_kernels.h"
#include "core/compute/matrix/matrix_tiles.h"

namespace aana::compute {

extern const MatrixKernels kAvx512MatrixKernels;

namespace {

constexpr int kSteps = kMatrixBlock / 4;

void Quantise(MatrixForm form, const float* values, int n_in, int n_rows, int row, void* inputs) {
  const Panel panel = PanelAt(n_rows, row);
  const int place = row - panel.first;
  const int zero = ZeroOf(form);
  auto* block = static_cast<uint8_t*>(inputs) + InputBytes(n_in, panel.first);
  for (int i = 0; i < n_in; i += kMatrixBlock, block += InputBytes(kMatrixBlock, panel.n_rows)) {
    const __m512 low = _mm512_loadu_ps(values + i);
    const __m512 high = _mm512_loadu_ps(values + i + 16);
    const float most = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)));
    const __m512 inverse = _mm512_set1_ps(most > 0 ? 127.0F / most : 0.0F);
    const __m512i low_values = _mm512_cvtps_epi32(_mm512_mul_ps(low, inverse));
    const __m512i high_values = _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse));
    auto* to = block + place * kMatrixBlock;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtsepi32_epi8(low_values));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16), _mm512_cvtsepi32_epi8(high_values));
    const float scale = most / 127.0F;
    const int low_sum = _mm512_reduce_add_epi32(low_values);
    const int high_sum = _mm512_reduce_add_epi32(high_values);
    int corrections[2] = {-zero * (low_sum + high_sum), 0};
    if (HasHalves(form)) {
      corrections[0] = -zero * low_sum;
      corrections[1] = -zero * high_sum;
    } else if (HasLeast(form)) {
      const float sum = scale * static_cast<float>(low_sum + high_sum);
      memcpy(corrections, &sum, sizeof sum);
    }
    auto* numbers = block + panel.n_rows * kMatrixBlock;
    memcpy(numbers + 4 * place, &scale, sizeof scale);
    memcpy(numbers + 4 * (panel.n_rows + place), corrections, sizeof *corrections);
    memcpy(numbers + 4 * (2 * panel.n_rows + place), corrections + 1, sizeof *corrections);
  }
}

__m512i FourOfEach(const uint8_t* bytes) {
  int32_t four;
  memcpy(&four, bytes, sizeof four);
  return _mm512_set1_epi32(four);
}

__m512 NumberOfEach(const uint8_t* bytes) {
  float number;
  memcpy(&number, bytes, sizeof number);
  return _mm512_set1_ps(number);
}

__m512 Halves(const uint8_t* bytes) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
}

// Returns `low` with the bits of `high` in `mask` added.
__m512i WithBits(__m512i low, __m512i high, __m512i mask) { return _mm512_ternarylogic_epi32(low, high, mask, 0xF8); }

// Returns the values of a step of a group, four columns of 16 rows, as bytes.
template <int kBits>
void LoadSteps(const uint8_t* bytes, __m512i* values) {
  if constexpr (kBits == 8) {
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; i++) values[i] = _mm512_loadu_si512(bytes + i * kMatrixStep);
    return;
  }
  const __m512i nibble = _mm512_set1_epi8(0x0F);
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const __m512i both = _mm512_loadu_si512(bytes + i * kMatrixStep);
    values[i] = _mm512_and_si512(both, nibble);
    values[i + 4] = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
  }
  if constexpr (kBits == 5) {
    const __m512i bit = _mm512_set1_epi8(0x10);
    const __m512i high = _mm512_loadu_si512(bytes + 4 * kMatrixStep);
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; i++)
      values[i] = WithBits(values[i],
                           i < 4 ? _mm512_slli_epi16(high, static_cast<unsigned>(i < 4 ? 4 - i : 0))
                                 : _mm512_srli_epi16(high, static_cast<unsigned>(i < 4 ? 0 : i - 4)),
                           bit);
  }
  if constexpr (kBits == 6) {
    const __m512i bits = _mm512_set1_epi8(0x30);
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
      const __m512i high = _mm512_loadu_si512(bytes + (4 + half) * kMatrixStep);
      __m512i* to = values + 4 * half;
      to[0] = WithBits(to[0], _mm512_slli_epi16(high, 4), bits);
      to[1] = WithBits(to[1], _mm512_slli_epi16(high, 2), bits);
      to[2] = WithBits(to[2], high, bits);
      to[3] = WithBits(to[3], _mm512_srli_epi16(high, 2), bits);
    }
  }
}

// With few inputs a core waits for the matrix. It gets more of it per second when it asks further ahead than the
// processor does by itself (measured: a tenth to a quarter more at 4 KiB).
constexpr int kAwaitedRows = 2;
constexpr size_t kAheadBytes = 4096;

// Computes 16 outputs of the R inputs of a panel.
template <MatrixForm kForm, int R>
void MultiplyTile(const uint8_t* group, const uint8_t* panel, int n_blocks, float* out, size_t n_out, __mmask16 lanes) {
  constexpr size_t kGroupBytes = MatrixGroupBytes(kForm);
  __m512 sums[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) sums[r] = _mm512_setzero_ps();
  for (int block = 0; block < n_blocks; block++) {
    if constexpr (R <= kAwaitedRows) {
      for (size_t i = 0; i < kGroupBytes; i += 64)
        _mm_prefetch(reinterpret_cast<const char*>(group + kAheadBytes + i), _MM_HINT_T0);
    }
    const __m512 scales = Halves(group);
    const __m512 seconds = HasLeast(kForm) || HasHalves(kForm) ? Halves(group + 2 * kMatrixRows) : scales;
    __m512i values[kSteps];
    LoadSteps<BitsOf(kForm)>(group + MatrixHeadBytes(kForm), values);
    const uint8_t* numbers = panel + R * kMatrixBlock;
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const uint8_t* input = panel + r * kMatrixBlock;
      const uint8_t* correction = numbers + 4 * (R + r);
      __m512i first = HasLeast(kForm) ? _mm512_setzero_si512() : FourOfEach(correction);
      __m512 product;
      if constexpr (HasHalves(kForm)) {
        __m512i second = FourOfEach(numbers + 4 * (2 * R + r));
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
          first = _mm512_dpbusd_epi32(first, values[i], FourOfEach(input + 4 * i));
          second = _mm512_dpbusd_epi32(second, values[i + 4], FourOfEach(input + 16 + 4 * i));
        }
        product =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(second), seconds, _mm512_mul_ps(_mm512_cvtepi32_ps(first), scales));
      } else {
#pragma GCC unroll 8
        for (int i = 0; i < kSteps; i++) first = _mm512_dpbusd_epi32(first, values[i], FourOfEach(input + 4 * i));
        product = _mm512_mul_ps(_mm512_cvtepi32_ps(first), scales);
      }
      sums[r] = _mm512_fmadd_ps(product, NumberOfEach(numbers + 4 * r), sums[r]);
      if constexpr (HasLeast(kForm)) sums[r] = _mm512_fmadd_ps(seconds, NumberOfEach(correction), sums[r]);
    }
    group += kGroupBytes;
    panel += static_cast<size_t>(R) * kInputBlockBytes;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) _mm512_mask_storeu_ps(out + static_cast<size_t>(r) * n_out, lanes, sums[r]);
}

struct Avx512 {
  template <MatrixForm kForm, int R>
  static constexpr Tile kTile = MultiplyTile<kForm, R>;
};

}  // namespace

const MatrixKernels kAvx512MatrixKernels = {Quantise, MultiplyByTiles<Avx512>};

}  // namespace aana::compute
