export { catalogue, findEntry } from './catalogue.ts';
export type { CatalogueEntry, ModelKind, QuantizedType } from './catalogue-types.ts';
export { checkModelFile } from './convert/check-model-file.ts';
export type { ImportOptions } from './import-model.ts';
export { ModelPulls, type PullState } from './model-pulls.ts';
export {
  type CatalogueRow,
  ModelStore,
  type ModelStoreOptions,
  type PullOptions,
  type ResolvedModel,
} from './store.ts';
