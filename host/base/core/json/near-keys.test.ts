import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nearKeys, suggestion } from './near-keys.ts';

const Near = suite('near keys');

Near('typing mistakes, and keys of which one is most of the other', () => {
  assert.equal(nearKeys('deploymnets', ['deployments', 'devices', 'port']), ['deployments']);
  assert.equal(nearKeys('prot', ['host', 'port', 'data_dir']), ['port']);
  assert.equal(nearKeys('threads', ['model_id', 'model_kwargs.n_threads']), ['model_kwargs.n_threads']);
  assert.equal(nearKeys('num_replica', ['num_replicas', 'num_gpus']), ['num_replicas']);
  assert.equal(nearKeys('Model_ID', ['model_id']), ['model_id']);
});

Near('the most similar first, three at most', () => {
  assert.equal(nearKeys('limit', ['limit_1', 'the_limits', 'limits', 'limit_2', 'limit_of_all']), [
    'limits',
    'limit_1',
    'limit_2',
  ]);
});

Near('short names do not fit everything that contains them', () => {
  assert.equal(nearKeys('a', ['data', 'cache', 'b']), ['b']);
  assert.equal(nearKeys('id', ['model_id', 'ids']), ['ids']);
});

Near('a key that is too long for a typing mistake has none', () => {
  const long = 'k'.repeat(64);
  assert.equal(nearKeys(long, [long]), [long]);
  assert.equal(nearKeys(`${long}k`, [long]), []);
});

Near('a suggestion names keys beside the unknown one, else keys elsewhere, or nothing', () => {
  const paths = ['port', 'host', 'dashboard', 'dashboard.port', 'model_kwargs.n_threads'];
  assert.is(suggestion('prot', [], paths), '; did you mean "port"?');
  assert.is(suggestion('prot', ['dashboard'], paths), '; did you mean "dashboard.port"?');
  assert.is(suggestion('threads', [], paths), '; did you mean "model_kwargs.n_threads"?');
  assert.is(suggestion('limit', [], ['limits', 'limit_1']), '; did you mean "limits" or "limit_1"?');
  assert.is(suggestion('xylophone', [], paths), '');
});

Near.run();
