export { catalogue, findEntry } from './catalogue.ts';
export { ModelPulls, type PullState } from './model-pulls.ts';
export { type CatalogueRow, ModelStore, type ResolvedModel } from './store.ts';
