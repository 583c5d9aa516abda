import { sampleName } from '../../host/base/telemetry/index.ts';
import { describedMetrics } from '../../host/application/metrics/described-metrics.ts';

/** Returns `docs/metrics.md`, made from the descriptions in the code. */
export function renderMetricsDocs(): string {
  const parts = describedMetrics().map(({ title, metrics }) => {
    const rows = metrics.map((metric) => {
      const labels = metric.attributes.map((name) => `\`${name}\``).join(', ');
      return (
        `| \`${metric.name}\` | \`${sampleName(metric)}\` | ${metric.kind} | ${labels || '–'} | ` +
        `${metric.description} |`
      );
    });
    return (
      `## ${title}\n\n| name | in Prometheus | kind | labels | what |\n| --- | --- | --- | --- | --- ` +
      `|\n${rows.join('\n')}\n`
    );
  });
  return `${HEAD}\n${parts.join('\n')}`;
}

const HEAD = `# Metrics

<!-- Made by \`npm run docs\` from the code that reports them; do not edit. -->

Every server answers \`GET /metrics\` with its counters, gauges and histograms as text for \
[Prometheus](https://prometheus.io), also as OpenMetrics for scrapers that prefer it. \`telemetry.metrics: false\` \
(\`AANA_METRICS=false\`) turns this off.

\`\`\`yaml
scrape_configs:
  - job_name: aana-host
    authorization:
      credentials_file: /etc/prometheus/aana-key # only with API keys
    static_configs:
      - targets: ['127.0.0.1:8000']
\`\`\`

With API keys, \`/metrics\` needs the key of an admin, like the routes below \`/api\`: \`aana-host keys create --user \
prometheus --admin --scope admin\`. Without API keys everyone who reaches the server can read it, like everything \
else. Each host reports
its own work, so add up the hosts with \`sum\`.

Names are those of OpenTelemetry's conventions where these have one. In Prometheus, dots are underscores, a unit is a \
suffix (\`_seconds\`, \`_bytes\`, \`_ratio\`), and counters end with \`_total\`. Labels have underscores too \
(\`http_route\`). Times are in seconds.
No label has values that clients choose: requests to unknown paths have no \`http.route\`. Beyond 2000 combinations of \
labels, a metric counts further ones in one series with \`otel_metric_overflow="true"\`.

\`aana.outcome\` is \`ok\`, or it names the cause of a failure: \`caller\`, \`deployment\`, \`replica-lost\`, \
\`dependency\`, \`overload\`, \`cancelled\`; for webhooks \`refused\`, \`unanswered\` or \`cancelled\`. \
\`aana.tenant\` names users, up to 50 of a replica; further ones are
\`other\`, and requests without a key \`none\`.

Engines report with each health check (\`health_check_period_s\`) and before they end as they were told; a process \
that is lost takes what it did since its last report along. Counters are sums over all replicas of a deployment and go \
on after a restart; gauges are
sums over the replicas that run. A replica's \`Implementation\` reports metrics of its own with \`metrics()\`.

\`gen_ai.request.model\` is the name of the deployment. Calls for requests and tasks tell their tokens; other calls of \
a program tell those of \`chat\` and \`generate\` if they ask for \`details\`; \`aana.engine.tokens.…\` count the \
tokens of all calls.

Histograms of durations have exemplars: the trace and span of the last sampled request in each bucket, in OpenMetrics \
(\`Accept: application/openmetrics-text\`) and at a collector. Prometheus keeps them with \
\`--enable-feature=exemplar-storage\`, and Grafana links them to traces.

A collector of OpenTelemetry can get the same instruments, by OTLP over HTTP and with the variables of OpenTelemetry's \
SDKs:

\`\`\`sh serve
OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://127.0.0.1:4318/v1/metrics OTEL_METRIC_EXPORT_INTERVAL=15000 npx aana-host \
serve plugins/
\`\`\`

\`OTEL_EXPORTER_OTLP_ENDPOINT\` names the collector of spans, metrics and log lines; then \
\`OTEL_METRICS_EXPORTER=none\` keeps the metrics here. \`OTEL_METRIC_EXPORT_INTERVAL\` and \
\`OTEL_METRIC_EXPORT_TIMEOUT\` are milliseconds (60000 and 30000),
\`OTEL_EXPORTER_OTLP_METRICS_HEADERS\` are headers for metrics only, and \
\`OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta\` sends what is new since the export before instead of \
totals since the start. The other variables are those of [traces](tracing.md#a-collector).
No request waits for the collector, and it has one request at a time. An export that does not arrive is not kept, \
because the next one includes it. At the end, the server waits up to two seconds for the last one.

Some queries:

| question | query |
| --- | --- |
| requests in a second, by route | \`sum by (http_route) (rate(http_server_request_duration_seconds_count[5m]))\` |
| part of the requests that fail | \`sum(rate(http_server_request_duration_seconds_count{error_type!=""}[5m])) / \
sum(rate(http_server_request_duration_seconds_count[5m]))\` |
| how long calls wait for a replica, 95 of 100 | \`histogram_quantile(0.95, sum by (le, aana_deployment) \
(rate(aana_deployment_call_wait_seconds_bucket[5m])))\` |
| time to the first token of a stream, 95 of 100 | \`histogram_quantile(0.95, sum by (le, gen_ai_request_model) \
(rate(gen_ai_server_time_to_first_token_seconds_bucket[5m])))\` |
| deployments without a replica | \`aana_deployment_replicas{aana_replica_state="ready"} == 0\` |
| part of the prompts that was computed before | \`sum(rate(aana_engine_tokens_reused_total[5m])) / \
sum(rate(aana_engine_tokens_prompt_total[5m]))\` |
`;
