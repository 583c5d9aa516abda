#pragma once

#include <string.h>

#include "core/compute/matrix/matrix_kernels.h"
#include "core/compute/vectors.h"

// The products of MatrixKernels, for the files with instructions.
namespace aana::compute {
namespace {

constexpr int kSteps = kMatrixBlock / 4;
// Vectors of the numbers of a block, and of the rows of a group.
constexpr int kBlockVectors = kMatrixBlock / kWidth;
constexpr int kParts = kMatrixRows / kWidth;

// Adds up the vectors of 16 numbers.
AANA_INLINE Words SumOfHalf(const Words* numbers) { return kParts == 1 ? numbers[0] : Add(numbers[0], numbers[1]); }

void QuantizeInput(MatrixForm form, const float* values, int n_in, int n_rows, int row, void* inputs) {
  const Panel panel = PanelAt(n_rows, row);
  const int place = row - panel.first;
  const int zero = ZeroOf(form);
  auto* block = static_cast<uint8_t*>(inputs) + InputBytes(n_in, panel.first);
  for (int i = 0; i < n_in; i += kMatrixBlock, block += InputBytes(kMatrixBlock, panel.n_rows)) {
    Floats parts[kBlockVectors];
    Floats sizes = AllOf(0.0F);
#pragma GCC unroll 4
    for (int j = 0; j < kBlockVectors; j++) {
      parts[j] = Load(values + i + j * kWidth);
      sizes = Most(sizes, SizesOf(parts[j]));
    }
    const float most = LargestOf(sizes);
    const Floats inverse = AllOf(most > 0 ? 127.0F / most : 0.0F);
    Words rounded[kBlockVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kBlockVectors; j++) rounded[j] = ToWords(parts[j] * inverse);
    StoreBytes(block + place * kMatrixBlock, rounded);
    const float scale = most / 127.0F;
    const Words low = SumOfHalf(rounded);
    const Words high = SumOfHalf(rounded + kParts);
    int corrections[2] = {};
    if (HasHalves(form)) {
      corrections[0] = -zero * SumOf(low);
      corrections[1] = -zero * SumOf(high);
    } else if (HasLeast(form)) {
      const float sum = scale * static_cast<float>(SumOf(Add(low, high)));
      memcpy(corrections, &sum, sizeof sum);
    } else {
      corrections[0] = -zero * SumOf(Add(low, high));
    }
    auto* numbers = block + panel.n_rows * kMatrixBlock;
    memcpy(numbers + 4 * place, &scale, sizeof scale);
    memcpy(numbers + 4 * (panel.n_rows + place), corrections, sizeof *corrections);
    memcpy(numbers + 4 * (2 * panel.n_rows + place), corrections + 1, sizeof *corrections);
  }
}

AANA_INLINE Floats HalvesAt(const uint8_t* bytes) { return Load(reinterpret_cast<const uint16_t*>(bytes)); }

// Returns the values of a block of the rows of a vector, for each step four columns of them, as bytes.
template <int kBits>
AANA_INLINE void LoadSteps(const uint8_t* bytes, Words* values) {
  if constexpr (kBits == 8) {
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; i++) values[i] = LoadWords(bytes + i * kMatrixStep);
    return;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const Words both = LoadWords(bytes + i * kMatrixStep);
    values[i] = both & AllBytes(0x0F);
    values[i + 4] = ShiftRight(both, 4) & AllBytes(0x0F);
  }
  if constexpr (kBits == 5) {
    const Words high = LoadWords(bytes + 4 * kMatrixStep);
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; i++) {
      const Words moved = i < 4 ? ShiftLeft(high, i < 4 ? 4U - static_cast<unsigned>(i) : 0U)
                                : ShiftRight(high, i < 4 ? 0U : static_cast<unsigned>(i) - 4U);
      values[i] = WithBits(values[i], moved, AllBytes(0x10));
    }
  }
  if constexpr (kBits == 6) {
    const Words bits = AllBytes(0x30);
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
      const Words high = LoadWords(bytes + (4 + half) * kMatrixStep);
      Words* to = values + 4 * half;
      to[0] = WithBits(to[0], ShiftLeft(high, 4), bits);
      to[1] = WithBits(to[1], ShiftLeft(high, 2), bits);
      to[2] = WithBits(to[2], high, bits);
      to[3] = WithBits(to[3], ShiftRight(high, 2), bits);
    }
  }
}

// The instructions for products of bytes differ too much for one text. VNNI adds four products in 32 bits, for values
// of all sizes. AVX2 adds two products in 16 bits, where those of 8 bits overflow.
#ifdef __AVX512VNNI__

// Adds the products of 4 * N columns to `sum`.
template <int kBits, int N>
AANA_INLINE Words AddProducts(Words sum, const Words* values, const uint8_t* input) {
#pragma GCC unroll 8
  for (int i = 0; i < N; i++) sum = _mm512_dpbusd_epi32(sum, values[i], FourOfEach(input + 4 * i));
  return sum;
}

#else

AANA_INLINE Words AddPairs(Words values) { return _mm256_madd_epi16(values, _mm256_set1_epi16(1)); }

// Adds the products of 4 * N columns to `sum`. Sums of two products are added in 16 bits as long as no values of kBits
// bits by values from -128 overflow.
template <int kBits, int N>
AANA_INLINE Words AddProducts(Words sum, const Words* values, const uint8_t* input) {
  constexpr int kRun = kBits == 4 ? 8 : kBits == 5 ? 4 : 2;
  static_assert(2 * ((1 << kBits) - 1) * 128 * kRun <= 0x7FFF);
#pragma GCC unroll 4
  for (int first = 0; first < N; first += kRun) {
    Words run = _mm256_maddubs_epi16(values[first], FourOfEach(input + 4 * first));
#pragma GCC unroll 8
    for (int i = first + 1; i < (first + kRun < N ? first + kRun : N); i++)
      run = _mm256_add_epi16(run, _mm256_maddubs_epi16(values[i], FourOfEach(input + 4 * i)));
    sum = Add(sum, AddPairs(run));
  }
  return sum;
}

// MultiplyBlock for values of 8 bits: their sizes are multiplied by inputs with their signs. Four steps at a time,
// whose values and sizes fill the registers.
template <MatrixForm kForm, int R>
  requires(kForm == MatrixForm::kEight)
AANA_INLINE void MultiplyBlock(const uint8_t* group, int part, const uint8_t* panel, Floats* sums) {
  const Floats scales = HalvesAt(group + 2 * kWidth * part);
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    const uint8_t* steps = group + MatrixHeadBytes(kForm) + 4 * kWidth * part + 4 * half * kMatrixStep;
    Words values[4];
    Words sizes[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      values[i] = LoadWords(steps + i * kMatrixStep) ^ AllBytes(0x80);
      sizes[i] = _mm256_abs_epi8(values[i]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const uint8_t* input = panel + r * kMatrixBlock + 16 * half;
      Words sum = AllOf(0);
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
        const Words signed_input = _mm256_sign_epi8(FourOfEach(input + 4 * i), values[i]);
        sum = Add(sum, AddPairs(_mm256_maddubs_epi16(sizes[i], signed_input)));
      }
      sums[r] = MultiplyAdd(ToFloats(sum) * scales, FloatOfEach(panel + R * kMatrixBlock + 4 * r), sums[r]);
    }
  }
}

#endif

// Adds the products of a block of the rows of a vector to the sums of R inputs.
template <MatrixForm kForm, int R>
AANA_INLINE void MultiplyBlock(const uint8_t* group, int part, const uint8_t* panel, Floats* sums) {
  constexpr int kBits = BitsOf(kForm);
  const uint8_t* numbers = panel + R * kMatrixBlock;
  const Floats scales = HalvesAt(group + 2 * kWidth * part);
  const Floats seconds =
      HasLeast(kForm) || HasHalves(kForm) ? HalvesAt(group + 2 * (kMatrixRows + kWidth * part)) : scales;
  Words values[kSteps];
  LoadSteps<kBits>(group + MatrixHeadBytes(kForm) + 4 * kWidth * part, values);
#pragma GCC unroll 16
  for (int r = 0; r < R; r++) {
    const uint8_t* input = panel + r * kMatrixBlock;
    const uint8_t* correction = numbers + 4 * (R + r);
    const Words zeros = HasLeast(kForm) ? AllOf(0) : FourOfEach(correction);
    Floats product;
    if constexpr (HasHalves(kForm)) {
      const Words first = AddProducts<kBits, 4>(zeros, values, input);
      const Words second = AddProducts<kBits, 4>(FourOfEach(numbers + 4 * (2 * R + r)), values + 4, input + 16);
      product = MultiplyAdd(ToFloats(second), seconds, ToFloats(first) * scales);
    } else {
      product = ToFloats(AddProducts<kBits, kSteps>(zeros, values, input)) * scales;
    }
    sums[r] = MultiplyAdd(product, FloatOfEach(numbers + 4 * r), sums[r]);
    if constexpr (HasLeast(kForm)) sums[r] = MultiplyAdd(seconds, FloatOfEach(correction), sums[r]);
  }
}

// With few inputs a core waits for the matrix. It gets more of it per second when it asks further ahead than the
// processor does by itself (measured: a tenth to a quarter more at 4 KiB).
constexpr int kAwaitedRows = 2;
constexpr size_t kAheadBytes = 4096;

// Computes 16 outputs of the R inputs of a panel, and writes those whose bit is set in `lanes`.
template <MatrixForm kForm, int R>
void MultiplyTile(const uint8_t* group, const uint8_t* panel, int n_blocks, float* out, size_t n_out, unsigned lanes) {
  constexpr size_t kGroupBytes = MatrixGroupBytes(kForm);
  Floats sums[kParts][R];
#pragma GCC unroll 2
  for (int part = 0; part < kParts; part++) {
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) sums[part][r] = AllOf(0.0F);
  }
  for (int block = 0; block < n_blocks; block++) {
    if constexpr (R <= kAwaitedRows) {
      for (size_t i = 0; i < kGroupBytes; i += 64)
        _mm_prefetch(reinterpret_cast<const char*>(group + kAheadBytes + i), _MM_HINT_T0);
    }
#pragma GCC unroll 1
    for (int part = 0; part < kParts; part++) MultiplyBlock<kForm, R>(group, part, panel, sums[part]);
    group += kGroupBytes;
    panel += static_cast<size_t>(R) * kInputBlockBytes;
  }
#pragma GCC unroll 2
  for (int part = 0; part < kParts; part++) {
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
      StoreLanes(out + static_cast<size_t>(r) * n_out + part * kWidth, lanes >> (part * kWidth), sums[part][r]);
  }
}

template <MatrixForm kForm>
auto TileOf(int n_rows) {
  constexpr decltype(&MultiplyTile<kForm, 1>) kTiles[8] = {
      MultiplyTile<kForm, 1>, MultiplyTile<kForm, 2>, MultiplyTile<kForm, 3>, MultiplyTile<kForm, 4>,
      MultiplyTile<kForm, 5>, MultiplyTile<kForm, 6>, MultiplyTile<kForm, 7>, MultiplyTile<kForm, 8>};
  return n_rows == kPanelRows ? MultiplyTile<kForm, kPanelRows> : kTiles[n_rows - 1];
}

// Bytes of inputs that stay in the second cache while the whole matrix passes.
constexpr size_t kCachedBytes = 512 * 1024;

template <MatrixForm kForm>
void MultiplyAll(const uint8_t* matrix, const uint8_t* inputs, int n_in, int n_out, int n_rows, int begin, int end,
                 float* out) {
  const int n_blocks = n_in / kMatrixBlock;
  const size_t group_bytes = static_cast<size_t>(n_blocks) * MatrixGroupBytes(kForm);
  int n_cached = static_cast<int>(kCachedBytes / InputBytes(n_in, 1)) / kPanelRows * kPanelRows;
  if (n_cached < kPanelRows) n_cached = kPanelRows;
  for (int first = 0; first < n_rows; first += n_cached) {
    const int last = first + n_cached < n_rows ? first + n_cached : n_rows;
    for (int group = begin; group < end; group++) {
      const int left = n_out - group * kMatrixRows;
      const auto lanes = left >= kMatrixRows ? 0xFFFFU : (1U << static_cast<unsigned>(left)) - 1U;
      for (int row = first; row < last;) {
        const int n = PanelAt(n_rows, row).n_rows;
        TileOf<kForm>(n)(matrix + static_cast<size_t>(group) * group_bytes, inputs + InputBytes(n_in, row), n_blocks,
                         out + static_cast<size_t>(row) * static_cast<size_t>(n_out) + group * kMatrixRows,
                         static_cast<size_t>(n_out), lanes);
        row += n;
      }
    }
  }
}

// MatrixKernels::multiply.
void MultiplyInputs(MatrixForm form, const void* matrix, const void* inputs, int n_in, int n_out, int n_rows, int begin,
                    int end, float* out) {
  const auto run = [&](auto all) {
    all(static_cast<const uint8_t*>(matrix), static_cast<const uint8_t*>(inputs), n_in, n_out, n_rows, begin, end, out);
  };
  switch (form) {
    case MatrixForm::kFour:
      return run(MultiplyAll<MatrixForm::kFour>);
    case MatrixForm::kFourLeast:
      return run(MultiplyAll<MatrixForm::kFourLeast>);
    case MatrixForm::kFive:
      return run(MultiplyAll<MatrixForm::kFive>);
    case MatrixForm::kFiveLeast:
      return run(MultiplyAll<MatrixForm::kFiveLeast>);
    case MatrixForm::kSix:
      return run(MultiplyAll<MatrixForm::kSix>);
    case MatrixForm::kEight:
      return run(MultiplyAll<MatrixForm::kEight>);
  }
}

}  // namespace
}  // namespace aana::compute
