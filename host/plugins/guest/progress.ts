import type { Bridge, Invocation } from './bridge.ts';

const maxReports = 1_000;
const maxTextChars = 1_024;

/** Reports the progress of an invocation. A report that changes nothing is dropped. */
export function report(bridge: Bridge, invocation: Invocation, fraction: number, text: string): void {
  const share = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
  const percent = Math.floor(share * 100);
  const last = invocation.progress;
  if ((percent === last.percent && text === last.text) || last.count >= maxReports) return;
  invocation.progress = { percent, text, count: last.count + 1 };
  bridge.post({ type: 'progress', id: invocation.id, fraction: share, text: text.slice(0, maxTextChars) });
}
