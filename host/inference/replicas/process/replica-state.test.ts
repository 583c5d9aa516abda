import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nextState, type ReplicaEvent, type ReplicaState } from './replica-state.ts';

const States = suite('the states of a replica');

const TABLE: readonly (readonly [ReplicaState, ReplicaEvent, ReplicaState | undefined])[] = [
  ['starting', 'loaded', 'ready'],
  ['starting', 'drain', 'stopped'],
  ['starting', 'drained', undefined],
  ['starting', 'exit', 'exited'],
  ['ready', 'loaded', undefined],
  ['ready', 'drain', 'draining'],
  ['ready', 'drained', undefined],
  ['ready', 'exit', 'exited'],
  ['draining', 'loaded', undefined],
  ['draining', 'drain', undefined],
  ['draining', 'drained', 'stopped'],
  ['draining', 'exit', 'exited'],
  ['stopped', 'loaded', undefined],
  ['stopped', 'drain', undefined],
  ['stopped', 'drained', undefined],
  ['stopped', 'exit', 'exited'],
  ['exited', 'loaded', undefined],
  ['exited', 'drain', undefined],
  ['exited', 'drained', undefined],
  ['exited', 'exit', undefined],
];

for (const [from, event, to] of TABLE) {
  States(`${from}, ${event}: ${to ?? 'nothing'}`, () => assert.is(nextState(from, event), to));
}

States.run();
