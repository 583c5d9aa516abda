/** The samplers of OpenTelemetry's SDKs. With `parentbased_…`, the caller of a request decides if it has a trace. */
export type SamplerName = `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`;

/** Decides whether a trace is exported. `isParentSampled` is the decision of the caller, if the trace has one. */
export type Sampler = (traceId: string, isParentSampled: boolean | undefined) => boolean;

/** Returns a sampler. `ratio` is the part of the traces, from 0 to 1, that `traceidratio` takes. */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  const isParentBased = name.startsWith('parentbased_');
  const isTaken = name.endsWith('ratio') ? inRatio(ratio) : () => name.endsWith('on');
  return (traceId, isParentSampled) => (isParentBased ? isParentSampled : undefined) ?? isTaken(traceId);
}

const RANDOM_DIGITS = 14;

/**
 * All processes take the same traces, because the last 56 bits of the trace id decide. Source: OpenTelemetry's
 * specification of probability sampling: a trace is taken if its randomness is not below the threshold.
 */
function inRatio(ratio: number): (traceId: string) => boolean {
  const threshold = Math.ceil((1 - ratio) * 16 ** RANDOM_DIGITS);
  if (threshold >= 16 ** RANDOM_DIGITS) return () => false;
  // Digits of the same number compare as their values do, and without the rounding of numbers above 2^53.
  const digits = BigInt(threshold).toString(16).padStart(RANDOM_DIGITS, '0');
  return (traceId) => traceId.slice(-RANDOM_DIGITS) >= digits;
}
