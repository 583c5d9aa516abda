import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { allowsPath, isScope } from './scopes.ts';

const Scopes = suite('scopes');

Scopes('are parts of the host and paths', () => {
  for (const good of ['endpoints', 'tasks', 'webhooks', 'admin', '/a', '/video/transcribe', '/video/*', '/a.b/c_d~e-f'])
    assert.ok(isScope(good), good);
  for (const bad of [
    '',
    'Endpoints',
    'endpoint',
    'video',
    '/',
    '/*',
    '/video/',
    '/video*',
    '/a b',
    '/a/*/b',
    '*',
    '/a?b',
  ])
    assert.not.ok(isScope(bad), bad);
});

Scopes('allow the named paths and no others', () => {
  const cases: [scopes: string[] | null, allowed: string[], refused: string[]][] = [
    [null, ['/a', '/tasks', '/webhooks/1', '/api/keys'], []],
    [
      ['endpoints'],
      ['/a', '/video/transcribe', '/nowhere', '/tasksandmore'],
      ['/tasks', '/TASKS/1', '//tasks', '/webhooks', '/api/status', '/API/keys', '/metrics'],
    ],
    [['tasks'], ['/tasks', '/tasks/', '/Tasks/1/events'], ['/a', '/webhooks', '/api/keys']],
    [['/video/transcribe'], ['/video/transcribe'], ['/video/transcribe/x', '/video/Transcribe', '/video', '/tasks']],
    [
      ['/video/*', 'webhooks'],
      ['/video/a', '/video/a/b', '/webhooks'],
      ['/video', '/videos/a', '/tasks'],
    ],
    [['/api/*', '/tasks/*'], [], ['/api/keys', '/tasks/1']],
  ];
  for (const [scopes, allowed, refused] of cases) {
    for (const path of allowed) assert.ok(allowsPath(scopes, path), `${scopes} ${path}`);
    for (const path of refused) assert.not.ok(allowsPath(scopes, path), `${scopes} ${path}`);
  }
});

Scopes.run();
