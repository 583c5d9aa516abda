import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApplicationReport } from '../../apis/http/index.ts';
import { historyText, statusText } from './status-text.ts';

const Text = suite('the status of an application for people');

const replica = {
  name: 'asr_deployment#1',
  state: 'ready',
  pid: 4040,
  device: 'GPU 0',
  shares: [],
  ongoing: 1,
  restarts: 0,
  models: [],
  memory_bytes: 412 * 2 ** 20,
  message: '',
};
const application: ApplicationReport = {
  name: 'app',
  version: '0.1.0',
  url: 'http://127.0.0.1:8000',
  pid: 4021,
  workers: [],
  status: 'RUNNING',
  phase: 'RUNNING',
  message: '',
  deployments: [],
  devices: [],
  controller: { epoch: 1, superseded: null },
  draining: null,
};

const NONE = { epoch: 1, changes: [] };

Text('is a table for each deployment', () => {
  const asr = {
    name: 'asr_deployment',
    status: 'RUNNING',
    message: '',
    queued: 0,
    updating: null,
    replicas: [replica],
  };
  assert.is(
    statusText({ ...application, deployments: [asr] }, NONE),
    `app at http://127.0.0.1:8000: RUNNING
  aana-host 0.1.0, process 4021

asr_deployment: RUNNING
  replica           state  pid   device  ongoing  memory   restarts
  asr_deployment#1  ready  4040  GPU 0   1        412 MiB  0
`,
  );
});

Text('shows waiting calls, sleeping deployments and reasons of failures within 80 columns', () => {
  const why =
    'deployment llm_deployment failed: replica llm_deployment#1 ended three times before it was ready; it wrote: ' +
    'llama_model_load: error loading model';
  const text = statusText(
    {
      ...application,
      status: 'UNHEALTHY',
      deployments: [
        {
          name: 'llm_deployment',
          status: 'UNHEALTHY',
          message: why,
          queued: 3,
          updating: null,
          replicas: [
            {
              ...replica,
              name: 'llm_deployment#1',
              state: 'exited',
              pid: null,
              device: '',
              memory_bytes: null,
              restarts: 2,
              message: why,
            },
          ],
        },
        { name: 'sleeping', status: 'RUNNING', message: '', queued: 0, updating: null, replicas: [] },
      ],
    },
    NONE,
  );
  assert.match(text, /^app at \S+: UNHEALTHY\n {2}RUNNING, aana-host/);
  assert.match(text, /\nllm_deployment: UNHEALTHY, 3 calls wait\n {2}deployment llm_deployment failed: /);
  assert.match(text, /\n {2}llm_deployment#1 +exited +- +- +1 +- +2\n {4}deployment llm_deployment failed/);
  assert.match(text, /\nsleeping: RUNNING\n {2}no replicas\n$/);
  assert.ok(
    text.split('\n').every((line) => line.length <= 80 && line === line.trimEnd()),
    text,
  );
});

Text('shows why an application without deployments is unhealthy', () => {
  assert.is(
    statusText(
      { ...application, status: 'UNHEALTHY', phase: 'NOT_STARTED', message: 'Error: app (NOT_STARTED): ' },
      NONE,
    ),
    `app at http://127.0.0.1:8000: UNHEALTHY\n  NOT_STARTED, aana-host 0.1.0, process 4021\n  Error: app ` +
      `(NOT_STARTED):\n`,
  );
});

Text('says what still runs in an application that drains', () => {
  assert.match(
    statusText({ ...application, draining: { requests: 2, tasks: 1, calls: 0 } }, NONE),
    /process 4021\n {2}draining: 2 requests, 1 task and 0 calls run\n$/,
  );
});

Text('names the workers', () => {
  const workers = [1, 2].map((worker) => ({ worker, pid: 5000 + worker }));
  assert.match(
    statusText({ ...application, workers }, NONE),
    /process 4021\n {2}workers: 1 \(process 5001\), 2 \(process 5002\)\n$/,
  );
});

Text('ends with the last changes, or why they are unknown', () => {
  const changed_at = Date.UTC(2026, 10, 30, 9, 12, 44);
  const made = { number: 1, epoch: 1, deployment: 'llm', detail: '', changed_by: 'command', changed_at } as const;
  const changes = [
    { ...made, kind: 'unload' },
    { ...made, kind: 'scale', detail: '1 to 2' },
  ] as const;
  assert.match(
    statusText(application, { epoch: 2, changes: [...changes] }),
    '\n\nlast changes (all: aana-host deployments history)\n' +
      '  2026-11-30T09:12:44Z llm: unload, by command\n' +
      '  2026-11-30T09:12:44Z llm: scale: 1 to 2, by command\n',
  );
  assert.match(statusText(application, 'the database is away'), /\nlast changes: unknown\n {2}the database is away\n$/);
});

Text('says that another host is the controller', () => {
  const superseded = 'process 7 of b (epoch 4) has become the controller of app on 8000; this host changes nothing';
  assert.match(
    statusText({ ...application, controller: { epoch: 3, superseded } }, NONE),
    /process 4021\n {2}process 7 of b \(epoch 4\) has become the controller .*\n {2}\S/,
  );
});

Text('of changes is a line for each', () => {
  const change = { number: 2, epoch: 7, deployment: 'asr', kind: 'unload', detail: '', changed_by: 'command' } as const;
  const changes = [
    { ...change, changed_at: 1_764_500_000_123 },
    { ...change, number: 1, kind: 'scale', detail: '1 to 2', changed_at: 1_764_400_000_000 } as const,
  ];
  assert.is(
    historyText({ epoch: 7, changes }),
    `CHANGE  TIME                  START  DEPLOYMENT  WHAT           BY
2       2025-11-30T10:53:20Z  7      asr         unload         command
1       2025-11-29T07:06:40Z  7      asr         scale: 1 to 2  command
`,
  );
  assert.is(historyText({ epoch: 7, changes: [] }), 'no operator has changed a deployment\n');
  assert.match(historyText({ epoch: null, changes: [] }), 'keeps no history');
});

Text.run();
