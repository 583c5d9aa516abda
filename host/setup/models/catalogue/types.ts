import type { PackageSource } from '../../packages/index.ts';
import type { BertNames } from '../convert/bert-to-gguf.ts';

export type ModelKind = 'whisper' | 'vad' | 'gguf' | 'onnx' | 'tool' | 'sample';

/** Files inside published packages, in the order in which they are joined. */
export interface PackageParts {
  readonly package: PackageSource;
  readonly members: readonly string[];
}

/** Files of a package of npm, which are unpacked for `require`. */
export interface NodePackage {
  readonly package: PackageSource;
  /** The members that are unpacked. */
  readonly members: RegExp;
}

/** Weight types that the quantizer can write. */
export type QuantizedType = 'q8_0' | 'q5_1';

/**
 * The place or the method from which a file is made. Each entry lists its sources in the order in which they are tried.
 */
export type ModelSource =
  /** A file of a Hugging Face hub repository. */
  | { readonly from: 'hub'; readonly repo: string; readonly file: string }
  | { readonly from: 'url'; readonly url: string }
  /** Members of packages, joined without conversion. */
  | { readonly from: 'package'; readonly parts: readonly PackageParts[] }
  /** A CTranslate2 Whisper model in packages, which is converted. */
  | { readonly from: 'ctranslate2'; readonly model: readonly PackageParts[]; readonly tokenizer: PackageParts }
  /** Silero's ONNX graph in a package, which is converted. */
  | { readonly from: 'silero-onnx'; readonly parts: PackageParts; readonly version: string }
  /** A BERT model for embeddings, in sentence-transformers' form in a package, which is converted. */
  | { readonly from: 'bert'; readonly parts: PackageParts; readonly names: BertNames }
  /** A PyTorch checkpoint in a package, which is converted to ONNX. */
  | {
      readonly from: 'torch';
      readonly parts: PackageParts;
      readonly network: 'pyannote' | 'campplus';
      /** Id of a model in the same package. The package is kept until that model is here. */
      readonly keepFor: string;
    }
  /** Packages of npm that are unpacked beside the file, which loads the first of them. No script of them runs. */
  | {
      readonly from: 'node-packages';
      readonly packages: readonly NodePackage[];
      /** Modules in the places of packages that the others load and that are not fetched: their sources by name. */
      readonly standIns?: Readonly<Record<string, string>>;
    }
  /** The 16-bit file of another entry, which is quantized on this machine. */
  | { readonly from: 'quantize'; readonly base: string; readonly type: QuantizedType };

/** One file of the catalogue: one variant of a model. */
export interface CatalogueEntry {
  /** Name and variant: `whisper-base:q8_0`. */
  readonly id: string;
  /** The id without the variant. */
  readonly name: string;
  readonly variant: string;
  /** Whether an id without a variant means this entry. */
  readonly isDefault: boolean;
  /** Other names for `name`. */
  readonly aliases: readonly string[];
  readonly kind: ModelKind;
  readonly fileName: string;
  readonly bytes: number;
  /** The pinned digest of the file. A file that is made on this machine from a pinned file may have none. */
  readonly sha256?: string | undefined;
  /** The digest from a publisher that gives no sha256. */
  readonly sha1?: string | undefined;
  readonly licence: string;
  readonly executable?: boolean | undefined;
  readonly sources: readonly ModelSource[];
}
