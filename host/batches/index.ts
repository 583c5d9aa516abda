export { Batches, type BatchesOptions, type BatchOrder, type UserBatches } from './batches.ts';
export { batchWork, type BatchWorkOptions } from './batch-work.ts';
