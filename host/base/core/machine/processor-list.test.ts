import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseProcessorList, processorListText } from './processor-list.ts';

const List = suite('lists of processors');

const CASES: readonly (readonly [text: string, ids: readonly number[] | undefined])[] = [
  ['0', [0]],
  ['0-3,8', [0, 1, 2, 3, 8]],
  ['8, 0-1', [0, 1, 8]],
  ['1-2,2-3', [1, 2, 3]],
  ['8191', [8191]],
  ['', undefined],
  ['all', undefined],
  ['-1', undefined],
  ['3-1', undefined],
  ['0,', undefined],
  ['0-', undefined],
  ['0-8192', undefined],
  ['1.5', undefined],
  ['0-99999999999', undefined],
];
for (const [text, ids] of CASES)
  List(`have ${ids ? `the processors ${ids.join(' ')}` : 'no other form'}: "${text}"`, () => {
    assert.equal(parseProcessorList(text), ids);
  });

List('are read as they are written', () => {
  for (let seed = 1; seed < 4096; seed += 1) {
    const ids = Array.from({ length: 12 }, (_, id) => id).filter((id) => (seed >> id) & 1);
    assert.equal(parseProcessorList(processorListText(ids)), ids);
  }
});

List.run();
