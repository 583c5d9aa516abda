import type { JSX } from 'preact';
import type { Trace } from './api.ts';
import { count, seconds } from './format.ts';

type Span = Trace['spans'][number];

/** The least width of a bar, in percent, so that short spans can be seen. */
const LEAST_WIDTH = 0.4;

/** The spans of a trace as bars over its time. Each row also says its start and duration in words. */
export function Waterfall({ trace }: { readonly trace: Trace }): JSX.Element {
  const { spans, duration_ms: whole, dropped_spans: dropped } = trace;
  const depths = depthsOf(spans);
  return (
    <>
      <div class="scroll" role="region" aria-label={`Spans of ${trace.name}`} tabIndex={0}>
        <table class="waterfall">
          <thead>
            <tr>
              <th scope="col">Span</th>
              <th scope="col" class="number">
                Time
              </th>
              <th scope="col">Of {seconds(whole / 1000)}</th>
            </tr>
          </thead>
          <tbody>
            {spans.map((span) => (
              <tr key={span.span_id}>
                <td style={{ paddingLeft: `${0.75 + (depths.get(span.span_id) ?? 0)}rem` }}>
                  <details>
                    <summary>
                      {span.name} <span class="quiet">{whatOf(span)}</span>
                    </summary>
                    <Facts span={span} />
                  </details>
                </td>
                <td class="number">{seconds(span.duration_ms / 1000)}</td>
                <td class="bars">
                  <div class={span.error_type === null ? 'bar' : 'bar failed'} style={barStyle(span, whole)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {dropped > 0 && <p class="quiet">{count(dropped, 'further span')} not kept</p>}
    </>
  );
}

/** The attributes that say what a span is about, in words of people. */
const ABOUT = ['aana.operation', 'aana.deployment', 'aana.method', 'aana.plugin', 'aana.plugin.endpoint'];

/** Returns what a span is about, as far as its name does not say it. */
function whatOf({ name, attributes }: Span): string {
  return ABOUT.flatMap((key) => attributes[key] ?? [])
    .map(String)
    .filter((word) => !name.includes(word))
    .join(' ');
}

function Facts({ span }: { readonly span: Span }): JSX.Element {
  const facts = [
    ['started', `after ${seconds(span.start_ms / 1000)}`],
    ...(span.error_type === null ? [] : [['error', span.error_type]]),
    ...Object.entries(span.attributes).map(([name, value]) => [name, String(value)]),
    ...span.events.map(({ name, at_ms: at }) => [name, `after ${seconds(at / 1000)}`]),
  ];
  return (
    <dl>
      {facts.map(([name, value], line) => (
        <div key={line}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function barStyle({ start_ms: start, duration_ms: duration }: Span, whole: number): { left: string; width: string } {
  const percent = (ms: number): number => Math.min(100, (100 * Math.max(0, ms)) / Math.max(whole, 1e-3));
  const left = Math.min(percent(start), 100 - LEAST_WIDTH);
  return { left: `${left}%`, width: `${Math.max(LEAST_WIDTH, Math.min(percent(duration), 100 - left))}%` };
}

/** Returns the number of spans around each span. Parents come before their children. */
function depthsOf(spans: readonly Span[]): ReadonlyMap<string, number> {
  const depths = new Map<string, number>();
  for (const { span_id: id, parent_span_id: parent } of spans)
    depths.set(id, parent !== null && depths.has(parent) ? depths.get(parent)! + 1 : 0);
  return depths;
}
