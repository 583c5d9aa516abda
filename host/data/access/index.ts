export {
  type ApiKeyInfo,
  apiKeyInfo,
  ApiKeys,
  KeyChanges,
  type KeyChangesInput,
  type KeyWork,
  NewKey,
  type NewKeyInput,
} from './api-keys.ts';
export { type ClientSecret, CLIENT_SECRET_PREFIX, ClientSecrets } from './client-secrets.ts';
export type { ApiKeyRecord } from '../storage/index.ts';
export { AccessError, keyRefused, tooManyRequests } from './errors.ts';
export { KeyLookUps } from './key-look-ups.ts';
export { API_KEY_PREFIX } from './key-text.ts';
export { RateLimiter } from './rate-limiter.ts';
export { RateLimitHandler } from './rate-limit-handler.ts';
export { MonthlyTokens } from './monthly-tokens.ts';
export { clientNetwork } from './client-network.ts';
export { type NamedVerdict, RateLimits, type RateSharer } from './rate-limits.ts';
export { SharedBuckets } from './shared-buckets.ts';
export { type LimitedCaller, UserLimits } from './user-limits.ts';
export { allowedDeployments, allowsPath, allowsResult, scopeOfPath } from './scopes.ts';
