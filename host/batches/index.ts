export { type BatchApi, MESSAGES_PATH } from './batch-format.ts';
export { type ApiBatches, Batches, type BatchesOptions, type BatchOrder, type UserBatches } from './batches.ts';
export { batchWork, type BatchWorkOptions } from './batch-work.ts';
export { messageLines, unansweredResults } from './message-batches.ts';
