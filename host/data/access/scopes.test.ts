import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { allowedDeployments, allowsPath, isScope } from './scopes.ts';

const Scopes = suite('scopes');

Scopes('are parts of the host and paths', () => {
  for (const good of [
    'endpoints',
    'tasks',
    'webhooks',
    'admin',
    '/a',
    '/video/transcribe',
    '/video/*',
    '/a.b/c_d~e-f',
    '/items/{id}',
    '/items/{id}/name/*',
    'model:llm',
  ])
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
    '/{id}',
    '/items/x{id}',
    '/items/{}',
    'model:',
    'model:a b',
    'Model:a',
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
    [['tasks'], ['/tasks', '/tasks/', '/Tasks/1/events'], ['/a', '/webhooks', '/api/keys', '/mcp']],
    [
      ['/video/transcribe'],
      ['/video/transcribe', '/mcp'],
      ['/mcp/x', '/video/transcribe/x', '/video/Transcribe', '/video', '/tasks'],
    ],
    [
      ['/video/*', 'webhooks'],
      ['/video/a', '/video/a/b', '/webhooks'],
      ['/video', '/videos/a', '/tasks'],
    ],
    [['/api/*', '/tasks/*'], [], ['/api/keys', '/tasks/1']],
    [
      ['model:llm'],
      ['/v1/models', '/v1/responses/1', '/chat/completions', '/asr/live'],
      ['/v1', '/a', '/tasks', '/api/keys', '/mcp'],
    ],
  ];
  for (const [scopes, allowed, refused] of cases) {
    for (const path of allowed) assert.ok(allowsPath(scopes, path), `${scopes} ${path}`);
    for (const path of refused) assert.not.ok(allowsPath(scopes, path), `${scopes} ${path}`);
  }
});

Scopes('name paths with parameters as the endpoint does, and a single one of them', () => {
  const at = (path: string, template?: string): { path: string; template?: string } => ({
    path,
    ...(template !== undefined && { template }),
  });
  const cases: [scope: string, place: { path: string; template?: string }, isAllowed: boolean][] = [
    ['/items/{id}', at('/items/7', '/items/{id}'), true],
    ['/items/{id}', at('/items/a%2Fb', '/items/{item}'), true],
    ['/items/{id}', at('/items/{id}', '/items/{id}'), true],
    ['/items/{id}', at('/items/7', '/items/7'), false],
    ['/items/{id}', at('/items/7'), false],
    ['/items/{id}', at('/items/7/name', '/items/{id}/name'), false],
    ['/items/{id}', at('/items/7', '/{x}/{id}'), false],
    ['/items/{id}/*', at('/items/7/name', '/items/{id}/name'), true],
    ['/items/{id}/*', at('/items/7', '/items/{id}'), false],
    ['/items/{id}/*', at('/items/7/name', '/items/7/name'), false],
    ['/items/*', at('/items/7', '/items/{id}'), true],
    ['/items/7', at('/items/7', '/items/{id}'), true],
    ['/items/7', at('/items/8', '/items/{id}'), false],
    ['/items/7', at('/items/{id}', '/items/{id}'), false],
    ['/items/7/*', at('/items/7/name', '/items/{id}/name'), true],
    ['/items/7/*', at('/items/8/name', '/items/{id}/name'), false],
  ];
  for (const [scope, { path, template }, isAllowed] of cases)
    assert.is(allowsPath([scope], path, template), isAllowed, `${scope} ${path} ${template}`);
});

Scopes('of models allow these models, and a scope of the path allows all', () => {
  const path = '/v1/chat/completions';
  assert.is(allowedDeployments(null, path), null);
  assert.is(allowedDeployments(['endpoints', 'model:llm'], path), null);
  assert.is(allowedDeployments(['/v1/*', 'model:llm'], path), null);
  assert.equal([...allowedDeployments(['model:llm', 'model:asr', 'tasks'], path)!], ['llm', 'asr']);
  assert.equal([...allowedDeployments(['model:llm'], '/summarize')!], []);
  assert.equal([...allowedDeployments(['tasks'], path)!], []);
});

Scopes.run();
