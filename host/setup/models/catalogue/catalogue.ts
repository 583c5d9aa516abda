import { embeddingEntries } from './embedding.ts';
import { textEntries } from './text.ts';
import { runtimeEntries, toolEntries } from './tools.ts';
import { ocrEntries } from './ocr.ts';
import { speakerEntries } from './speakers.ts';
import type { CatalogueEntry } from './types.ts';
import { whisperEntries } from './whisper.ts';

const vadEntries: readonly CatalogueEntry[] = [
  {
    id: 'silero-vad-v6.2.0:f16',
    name: 'silero-vad-v6.2.0',
    variant: 'f16',
    isDefault: true,
    aliases: ['silero-vad'],
    kind: 'vad',
    fileName: 'ggml-silero-v6.2.0.bin',
    bytes: 885_098,
    sha256: '2aa269b785eeb53a82983a20501ddf7c1d9c48e33ab63a41391ac6c9f7fb6987',
    licence: 'MIT',
    sources: [
      { from: 'hub', repo: 'ggml-org/whisper-vad', file: 'ggml-silero-v6.2.0.bin' },
      {
        from: 'silero-onnx',
        version: '6.2.0',
        parts: {
          package: {
            registry: 'npm',
            name: '@livekit/agents-plugin-silero',
            version: '1.9.0',
            integrity:
              'sha512-V0zh+X1K2GVXPTZb+31OpcDaoEF2wGe8cVbJVzkDoodp8eS4oHVPoaM+0RiwkGXcHAmpYjOD06Ksrv9GsJrqXA==',
            bytes: 3_926_547,
          },
          members: ['package/dist/silero_vad.onnx'],
        },
      },
    ],
  },
];

/** Every file known by name, for the platform of this machine. */
export const catalogue: readonly CatalogueEntry[] = [
  ...whisperEntries,
  ...vadEntries,
  ...textEntries,
  ...embeddingEntries,
  ...speakerEntries,
  ...ocrEntries,
  ...toolEntries(`${process.platform}-${process.arch}`),
  ...runtimeEntries(process.platform, process.arch),
];

/**
 * Returns the entry for an id such as `whisper-base`, `whisper-base:q5_1` or `whisper-turbo`, or for a whole file name.
 * Ignores case.
 */
export function findEntry(id: string): CatalogueEntry | undefined {
  const [name = '', variant] = id.toLowerCase().split(':');
  return catalogue.find(
    (entry) =>
      ((entry.name === name || entry.aliases.includes(name)) &&
        (variant === undefined ? entry.isDefault : entry.variant === variant)) ||
      entry.fileName.toLowerCase() === id.toLowerCase(),
  );
}

/** What a model computes, for those that a deployment can have by themselves. */
export type Purpose = 'text' | 'embedding' | 'speech';

/** Returns what the model of an entry computes; undefined for tools and for parts of other models. */
export function purposeOf(entry: CatalogueEntry): Purpose | undefined {
  if (textEntries.includes(entry)) return 'text';
  if (embeddingEntries.includes(entry)) return 'embedding';
  return entry.kind === 'whisper' ? 'speech' : undefined;
}

/** Returns the variants of a name in the catalogue; empty if the catalogue does not have the name. */
export function variantsOf(id: string): readonly CatalogueEntry[] {
  const [name = ''] = id.toLowerCase().split(':');
  return catalogue.filter((entry) => entry.name === name || entry.aliases.includes(name));
}
