// Compiled with options for AVX2. It includes no header of the C++ library with templates, because the linker could
// take such a function from here for the rest of the program, which runs on other processors too.
#include <immintrin.h>
#include <string.h>

#include "core/compute/avx2_math.h"
#include "core/compute/matrix/matrix_kernels.h"
#include "core/compute/matrix/matrix_tiles.h"

namespace aana::compute {

extern const MatrixKernels kAvx2MatrixKernels;

namespace {

// Of functions whose vectors stay in registers.
#define AANA_INLINE __attribute__((always_inline)) inline

constexpr int kSteps = kMatrixBlock / 4;
// Rows of a register: a group of 16 has two such parts.
constexpr int kLanes = 8;
constexpr int kParts = kMatrixRows / kLanes;

int SumOf(__m256i values) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1)));
}

void Quantise(MatrixForm form, const float* values, int n_in, int n_rows, int row, void* inputs) {
  const Panel panel = PanelAt(n_rows, row);
  const int place = row - panel.first;
  const int zero = ZeroOf(form);
  auto* block = static_cast<uint8_t*>(inputs) + InputBytes(n_in, panel.first);
  const __m256 sign = _mm256_set1_ps(-0.0F);
  for (int i = 0; i < n_in; i += kMatrixBlock, block += InputBytes(kMatrixBlock, panel.n_rows)) {
    __m256 parts[4];
    __m256 sizes = _mm256_setzero_ps();
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
      parts[j] = _mm256_loadu_ps(values + i + j * kLanes);
      sizes = _mm256_max_ps(sizes, _mm256_andnot_ps(sign, parts[j]));
    }
    const float most = LargestOf(sizes);
    const __m256 inverse = _mm256_set1_ps(most > 0 ? 127.0F / most : 0.0F);
    __m256i rounded[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) rounded[j] = _mm256_cvtps_epi32(_mm256_mul_ps(parts[j], inverse));
    // Packing mixes the halves of registers; the permutation puts each four values to their place.
    const __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(rounded[0], rounded[1]), _mm256_packs_epi32(rounded[2], rounded[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(block + place * kMatrixBlock),
                        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    const float scale = most / 127.0F;
    const int low_sum = SumOf(_mm256_add_epi32(rounded[0], rounded[1]));
    const int high_sum = SumOf(_mm256_add_epi32(rounded[2], rounded[3]));
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

__m256i FourOfEach(const uint8_t* bytes) {
  int32_t four;
  memcpy(&four, bytes, sizeof four);
  return _mm256_set1_epi32(four);
}

__m256 NumberOfEach(const uint8_t* bytes) {
  float number;
  memcpy(&number, bytes, sizeof number);
  return _mm256_set1_ps(number);
}

__m256i Load(const uint8_t* bytes) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)); }

// Returns `low` with the bits of `high` in `mask` added.
__m256i WithBits(__m256i low, __m256i high, __m256i mask) { return _mm256_or_si256(low, _mm256_and_si256(high, mask)); }

// Returns the values of a block, for each step four columns of 8 rows, as bytes.
template <int kBits>
AANA_INLINE void LoadSteps(const uint8_t* bytes, __m256i* values) {
  const __m256i nibble = _mm256_set1_epi8(0x0F);
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const __m256i both = Load(bytes + i * kMatrixStep);
    values[i] = _mm256_and_si256(both, nibble);
    values[i + 4] = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);
  }
  if constexpr (kBits == 5) {
    const __m256i bit = _mm256_set1_epi8(0x10);
    const __m256i high = Load(bytes + 4 * kMatrixStep);
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; i++)
      values[i] = WithBits(
          values[i], i < 4 ? _mm256_slli_epi16(high, i < 4 ? 4 - i : 0) : _mm256_srli_epi16(high, i < 4 ? 0 : i - 4),
          bit);
  }
  if constexpr (kBits == 6) {
    const __m256i bits = _mm256_set1_epi8(0x30);
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
      const __m256i high = Load(bytes + (4 + half) * kMatrixStep);
      __m256i* to = values + 4 * half;
      to[0] = WithBits(to[0], _mm256_slli_epi16(high, 4), bits);
      to[1] = WithBits(to[1], _mm256_slli_epi16(high, 2), bits);
      to[2] = WithBits(to[2], high, bits);
      to[3] = WithBits(to[3], _mm256_srli_epi16(high, 2), bits);
    }
  }
}

__m256i AddPairs(__m256i values) { return _mm256_madd_epi16(values, _mm256_set1_epi16(1)); }

// Adds the products of 4 * N columns to `sum`. An instruction adds two products in 16 bits, and these sums are added in
// 16 bits as long as no values of kBits bits by values from -128 overflow.
template <int kBits, int N>
AANA_INLINE __m256i AddProducts(__m256i sum, const __m256i* values, const uint8_t* input) {
  constexpr int kRun = kBits == 4 ? 8 : kBits == 5 ? 4 : 2;
  static_assert(2 * ((1 << kBits) - 1) * 128 * kRun <= 0x7FFF);
#pragma GCC unroll 4
  for (int first = 0; first < N; first += kRun) {
    __m256i run = _mm256_maddubs_epi16(values[first], FourOfEach(input + 4 * first));
#pragma GCC unroll 8
    for (int i = first + 1; i < (first + kRun < N ? first + kRun : N); i++)
      run = _mm256_add_epi16(run, _mm256_maddubs_epi16(values[i], FourOfEach(input + 4 * i)));
    sum = _mm256_add_epi32(sum, AddPairs(run));
  }
  return sum;
}

// AddProducts for values of 8 bits, which would overflow: their sizes are multiplied by inputs with their signs. Of
// each step `values` has the values and `sizes` their sizes.
AANA_INLINE __m256i AddSignedProducts(__m256i sum, const __m256i* values, const __m256i* sizes, const uint8_t* input) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const __m256i signed_input = _mm256_sign_epi8(FourOfEach(input + 4 * i), values[i]);
    sum = _mm256_add_epi32(sum, AddPairs(_mm256_maddubs_epi16(sizes[i], signed_input)));
  }
  return sum;
}

// Adds the products of a block of 8 rows to the sums of R inputs.
template <MatrixForm kForm, int R>
AANA_INLINE void MultiplyBlock(const uint8_t* group, int part, const uint8_t* panel, __m256* sums) {
  constexpr int kBits = BitsOf(kForm);
  const uint8_t* numbers = panel + R * kMatrixBlock;
  const __m256 scales = Halves(group + 2 * kLanes * part);
  const __m256 seconds =
      HasLeast(kForm) || HasHalves(kForm) ? Halves(group + 2 * (kMatrixRows + kLanes * part)) : scales;
  const uint8_t* steps = group + MatrixHeadBytes(kForm) + 4 * kLanes * part;
  __m256i values[kSteps];
  LoadSteps<kBits>(steps, values);
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) {
    const uint8_t* input = panel + r * kMatrixBlock;
    const uint8_t* correction = numbers + 4 * (R + r);
    const __m256i zeros = HasLeast(kForm) ? _mm256_setzero_si256() : FourOfEach(correction);
    __m256 product;
    if constexpr (HasHalves(kForm)) {
      const __m256i first = AddProducts<kBits, 4>(zeros, values, input);
      const __m256i second = AddProducts<kBits, 4>(FourOfEach(numbers + 4 * (2 * R + r)), values + 4, input + 16);
      product = _mm256_fmadd_ps(_mm256_cvtepi32_ps(second), seconds, _mm256_mul_ps(_mm256_cvtepi32_ps(first), scales));
    } else {
      product = _mm256_mul_ps(_mm256_cvtepi32_ps(AddProducts<kBits, kSteps>(zeros, values, input)), scales);
    }
    sums[r] = _mm256_fmadd_ps(product, NumberOfEach(numbers + 4 * r), sums[r]);
    if constexpr (HasLeast(kForm)) sums[r] = _mm256_fmadd_ps(seconds, NumberOfEach(correction), sums[r]);
  }
}

// MultiplyBlock for values of 8 bits: four steps at a time, whose values and sizes fill the registers.
template <int R>
AANA_INLINE void MultiplyBytes(const uint8_t* group, int part, const uint8_t* panel, __m256* sums) {
  const __m256 scales = Halves(group + 2 * kLanes * part);
  const __m256i zero = _mm256_set1_epi8(static_cast<char>(0x80));
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    const uint8_t* steps = group + MatrixHeadBytes(MatrixForm::kEight) + 4 * kLanes * part + 4 * half * kMatrixStep;
    __m256i values[4];
    __m256i sizes[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      values[i] = _mm256_xor_si256(Load(steps + i * kMatrixStep), zero);
      sizes[i] = _mm256_abs_epi8(values[i]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const __m256i sum =
          AddSignedProducts(_mm256_setzero_si256(), values, sizes, panel + r * kMatrixBlock + 16 * half);
      sums[r] = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), scales),
                                NumberOfEach(panel + R * kMatrixBlock + 4 * r), sums[r]);
    }
  }
}

// Stores the lanes whose bit is set in `lanes`.
void StoreLanes(float* to, unsigned lanes, __m256 values) {
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  _mm256_maskstore_ps(to, _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(lanes)), bits), bits),
                      values);
}

// With few inputs a core waits for the matrix. It gets more of it per second when it asks further ahead than the
// processor does by itself.
constexpr int kAwaitedRows = 2;
constexpr size_t kAheadBytes = 4096;

template <MatrixForm kForm, int R>
void MultiplyTile(const uint8_t* group, const uint8_t* panel, int n_blocks, float* out, size_t n_out, uint16_t lanes) {
  constexpr size_t kGroupBytes = MatrixGroupBytes(kForm);
  __m256 sums[kParts][R];
#pragma GCC unroll 2
  for (int part = 0; part < kParts; part++) {
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) sums[part][r] = _mm256_setzero_ps();
  }
  for (int block = 0; block < n_blocks; block++) {
    if constexpr (R <= kAwaitedRows) {
      for (size_t i = 0; i < kGroupBytes; i += 64)
        _mm_prefetch(reinterpret_cast<const char*>(group + kAheadBytes + i), _MM_HINT_T0);
    }
#pragma GCC unroll 1
    for (int part = 0; part < kParts; part++) {
      if constexpr (kForm == MatrixForm::kEight)
        MultiplyBytes<R>(group, part, panel, sums[part]);
      else
        MultiplyBlock<kForm, R>(group, part, panel, sums[part]);
    }
    group += kGroupBytes;
    panel += static_cast<size_t>(R) * kInputBlockBytes;
  }
#pragma GCC unroll 2
  for (int part = 0; part < kParts; part++) {
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
      StoreLanes(out + static_cast<size_t>(r) * n_out + part * kLanes, static_cast<unsigned>(lanes) >> (part * kLanes),
                 sums[part][r]);
  }
}

struct Avx2 {
  template <MatrixForm kForm, int R>
  static constexpr Tile kTile = MultiplyTile<kForm, R>;
};

}  // namespace

const MatrixKernels kAvx2MatrixKernels = {Quantise, MultiplyByTiles<Avx2>};

}  // namespace aana::compute
