import type { Bridge, Invocation } from './bridge.ts';

const maxReports = 1_000;
const maxTextChars = 1_024;

/**
 * Reports the progress of an invocation, and the fraction at which its next step ends, if the guest says so. A report
 * that changes nothing is dropped.
 */
export function report(bridge: Bridge, invocation: Invocation, fraction: number, text: string, end?: number): void {
  const share = shareOf(fraction);
  const until = end === undefined ? undefined : Math.max(share, shareOf(end));
  const percent = Math.floor(share * 100);
  const last = invocation.progress;
  const isSame = percent === last.percent && text === last.text && until === last.until;
  if (isSame || last.count >= maxReports) return;
  invocation.progress = { percent, text, until, count: last.count + 1 };
  bridge.post({ type: 'progress', id: invocation.id, fraction: share, text: text.slice(0, maxTextChars), until });
}

const shareOf = (fraction: number): number => (Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0);
