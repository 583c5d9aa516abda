export { catalogue, findEntry, type Purpose, purposeOf } from './catalogue/catalogue.ts';
export { parseHubReference } from './model-target.ts';
export { ModelPulls, type PullState } from './model-pulls.ts';
export { type CatalogueRow, ModelStore, type ResolvedModel } from './store.ts';
