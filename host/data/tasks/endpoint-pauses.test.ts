import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EndpointPauses } from './endpoint-pauses.ts';

const Pauses = suite('EndpointPauses');

function make(): { pauses: EndpointPauses; pass: (ms: number) => void; state: () => string } {
  let now = 0;
  const pauses = new EndpointPauses(() => now);
  const state = (): string => {
    const { open, probes } = pauses.claimable(['/a']);
    return open.length > 0 ? 'open' : probes.length > 0 ? 'probe' : 'paused';
  };
  return { pauses, pass: (ms) => (now += ms), state };
}

Pauses('pause an endpoint after failures in a row, and no other endpoint', () => {
  const { pauses, state } = make();
  assert.equal([pauses.unserved('/a'), pauses.unserved('/a'), pauses.served('/a')], [false, false, false]);
  assert.equal([pauses.unserved('/a'), pauses.unserved('/a'), state()], [false, false, 'open']);
  assert.equal([pauses.unserved('/a'), state()], [true, 'paused']);
  assert.equal(pauses.claimable(['/a', '/b']), { open: ['/b'], probes: [] });
  assert.equal([pauses.served('/a'), state()], [true, 'open']);
});

Pauses('are twice as long after each failed probe, up to a minute', () => {
  const { pauses, pass, state } = make();
  for (let failures = 0; failures < 3; failures += 1) pauses.unserved('/a');
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    for (let late = 0; late < 5; late += 1) assert.not.ok(pauses.unserved('/a')); // attempts from before the pause
    pass(seconds * 1000 - 1);
    assert.is(state(), 'paused', `before ${seconds} s`);
    pass(1);
    assert.is(state(), 'probe', `after ${seconds} s`);
    pauses.probed('/a');
    assert.is(state(), 'paused');
    pauses.unserved('/a');
  }
});

Pauses('become shorter and end while a probe goes on', () => {
  const { pauses, pass, state } = make();
  for (let failures = 0; failures < 3; failures += 1) pauses.unserved('/a');
  for (const seconds of [1, 2, 4]) {
    pass(seconds * 1000);
    pauses.probed('/a');
    pauses.unserved('/a');
  }
  for (const seconds of [8, 8, 4, 2, 1]) {
    pass(seconds * 1000);
    assert.is(state(), 'probe');
    pauses.probed('/a');
  }
  assert.is(state(), 'open');
});

Pauses.run();
