import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MetricData } from '../metric-data.ts';
import { exposedName } from './names.ts';
import { metricsText } from './text.ts';

const Text = suite('the text of metrics');

const CALLS: MetricData = {
  name: 'aana.calls',
  kind: 'counter',
  unit: '{call}',
  description: 'Calls "of"\na \\ deployment.',
  points: [
    { attributes: {}, value: 3 },
    { attributes: { 'aana.method': 'a"b\\c\nd', 'is.streamed': true }, value: 0.5 },
  ],
};
const WAIT: MetricData = {
  name: 'aana.wait',
  kind: 'histogram',
  unit: 's',
  description: '',
  points: [{ attributes: { of: 'x' }, boundaries: [0.5, 1], counts: [2, 0, 1], sum: 4.25 }],
};
const TARGET = { 'service.name': 'app' };

Text('is what Prometheus reads', () => {
  assert.is(
    metricsText([CALLS, WAIT], TARGET, 'prometheus'),
    `# TYPE target_info gauge
# HELP target_info What this process is.
target_info{service_name="app"} 1
# TYPE aana_calls_total counter
# HELP aana_calls_total Calls "of"\\na \\\\ deployment.
aana_calls_total 3
aana_calls_total{aana_method="a\\"b\\\\c\\nd",is_streamed="true"} 0.5
# TYPE aana_wait_seconds histogram
aana_wait_seconds_bucket{of="x",le="0.5"} 2
aana_wait_seconds_bucket{of="x",le="1.0"} 2
aana_wait_seconds_bucket{of="x",le="+Inf"} 3
aana_wait_seconds_sum{of="x"} 4.25
aana_wait_seconds_count{of="x"} 3
`,
  );
});

Text('has exemplars in OpenMetrics only', () => {
  const exemplar = { value: 0.7, at: 1_700_000_000_250, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
  const [point] = WAIT.points;
  const seen = { ...WAIT, points: [{ ...point, exemplars: [undefined, exemplar] }] } as MetricData;
  assert.match(
    metricsText([seen], TARGET, 'openmetrics'),
    `le="1.0"} 2 # {trace_id="${'a'.repeat(32)}",span_id="${'b'.repeat(16)}"} 0.7 1700000000.25\n`,
  );
  assert.is(metricsText([seen], TARGET, 'prometheus'), metricsText([WAIT], TARGET, 'prometheus'));
});

Text('is OpenMetrics for those who prefer it', () => {
  assert.is(
    metricsText([CALLS, WAIT], TARGET, 'openmetrics'),
    `# TYPE target info
# HELP target What this process is.
target_info{service_name="app"} 1
# TYPE aana_calls counter
# HELP aana_calls Calls \\"of\\"\\na \\\\ deployment.
aana_calls_total 3
aana_calls_total{aana_method="a\\"b\\\\c\\nd",is_streamed="true"} 0.5
# TYPE aana_wait_seconds histogram
# UNIT aana_wait_seconds seconds
aana_wait_seconds_bucket{of="x",le="0.5"} 2
aana_wait_seconds_bucket{of="x",le="1.0"} 2
aana_wait_seconds_bucket{of="x",le="+Inf"} 3
aana_wait_seconds_sum{of="x"} 4.25
aana_wait_seconds_count{of="x"} 3
# EOF
`,
  );
});

Text('has a family once', () => {
  const other: MetricData = { ...CALLS, name: 'aana_calls' };
  assert.is(metricsText([CALLS, other], {}, 'prometheus').match(/# TYPE aana_calls_total/g)?.length, 1);
});

Text('has names with units, as OpenTelemetry’s exporters make them', () => {
  const cases: [name: string, unit: string, kind: MetricData['kind'], family: string][] = [
    ['http.server.request.duration', 's', 'histogram', 'http_server_request_duration_seconds'],
    ['aana.media.fetch.size', 'By', 'histogram', 'aana_media_fetch_size_bytes'],
    ['nodejs.eventloop.utilization', '1', 'gauge', 'nodejs_eventloop_utilization_ratio'],
    ['steps', '1', 'counter', 'steps'],
    ['aana.tasks.ended', '{task}', 'counter', 'aana_tasks_ended'],
    ['time.seconds', 's', 'counter', 'time_seconds'],
    ['requests_total', '', 'counter', 'requests'],
    ['9lives--x', '', 'gauge', '_9lives_x'],
  ];
  for (const [name, unit, kind, family] of cases) assert.is(exposedName({ name, unit, kind }).family, family);
});

Text.run();
