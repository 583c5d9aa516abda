import { describePackage, type PackageSource } from '../../packages/index.ts';
import type { ModelSource } from '../catalogue/types.ts';
import { packagesOf } from './package-members.ts';

/** Returns the name of a source for lists and errors. */
export function describeSource(source: ModelSource): string {
  switch (source.from) {
    case 'hub':
      return `hub:${source.repo}/${source.file}`;
    case 'url':
      return source.url;
    case 'quantize':
      return `${source.base} quantized`;
    case 'bert':
    case 'torch':
    case 'node-packages':
    case 'silero-onnx':
    case 'package':
    case 'ctranslate2':
      return describePackages(packagesOfSource(source));
  }
}

/** Returns the packages that a source needs; empty if it does not use packages. */
export function packagesOfSource(source: ModelSource): PackageSource[] {
  switch (source.from) {
    case 'package':
      return packagesOf(source.parts);
    case 'ctranslate2':
      return packagesOf([...source.model, source.tokenizer]);
    case 'node-packages':
      return source.packages.map(({ package: each }) => each);
    case 'bert':
    case 'torch':
    case 'silero-onnx':
      return packagesOf([source.parts]);
    case 'hub':
    case 'url':
    case 'quantize':
      return [];
  }
}

function describePackages(packages: readonly PackageSource[]): string {
  const [first] = packages;
  if (!first) return 'no package';
  return packages.length === 1 ? describePackage(first) : `${describePackage(first)} and ${packages.length - 1} more`;
}
