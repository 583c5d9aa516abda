import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LooseCalls, type LooseCall } from './loose-calls.ts';

const Loose = suite('calls of tools that are written as plain JSON');

interface Read {
  readonly text: string;
  readonly calls: readonly LooseCall[];
}

function read(whole: string, { parallel = true, size = whole.length || 1 } = {}): Read {
  const loose = new LooseCalls(['weather', 'time'], { parallel });
  const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, n) =>
    whole.slice(n * size, (n + 1) * size),
  );
  const all = [...pieces.map((piece) => loose.push(piece)), loose.finish()];
  return { text: all.map(({ text }) => text).join(''), calls: all.flatMap(({ calls }) => calls) };
}

const CALL = '{"name": "weather", "arguments": {"city": "Paris"}}';
const PARIS: LooseCall = { name: 'weather', arguments: '{"city":"Paris"}' };

const CASES: readonly (readonly [title: string, whole: string, text: string, calls: readonly LooseCall[]])[] = [
  ['bare', CALL, '', [PARIS]],
  ['with white space', `\n  ${CALL}\n`, '\n', [PARIS]],
  ['in a fence', `\`\`\`json\n${CALL}\n\`\`\``, '', [PARIS]],
  ['in a fence without a language', `\`\`\`\n${CALL}\n\`\`\`\n`, '', [PARIS]],
  ['in a fence that is not closed', `\`\`\`json\n${CALL}`, '', [PARIS]],
  ['after a text', `I look it up.\n\n\`\`\`json\n${CALL}\n\`\`\`\nDone.`, 'I look it up.\n\nDone.', [PARIS]],
  ['two in lines', `${CALL}\n{"name": "time", "arguments": {}}`, '', [PARIS, { name: 'time', arguments: '{}' }]],
  ['an array', `[${CALL}, ${CALL}]`, '', [PARIS, PARIS]],
  ['with parameters', '{"name": "weather", "parameters": {"city": "Paris"}}', '', [PARIS]],
  ['with arguments as text', '{"name": "weather", "arguments": "{\\"city\\": \\"Paris\\"}"}', '', [PARIS]],
  ['as in the API', `{"type": "function", "function": ${CALL}}`, '', [PARIS]],
  ['with the name under function', '{"function": "weather", "arguments": {"city": "Paris"}}', '', [PARIS]],
  [
    'with braces in a string',
    '{"name": "weather", "arguments": {"city": "}\\"{"}}',
    '',
    [{ name: 'weather', arguments: '{"city":"}\\"{"}' }],
  ],
];
for (const [title, whole, text, calls] of CASES) {
  Loose(`is found: ${title}`, () => {
    for (const size of [whole.length, 1, 3, 7])
      assert.equal(read(whole, { size }), { text, calls }, `pieces of ${size}`);
  });
}

const TEXTS: readonly string[] = [
  'Hello.\nThis is an answer.',
  '{"name": "other", "arguments": {}}',
  '{"name": "weather"}',
  '{"name": "weather", "arguments": [1]}',
  '{"city": "Paris", "degrees": 20}',
  '```json\n{"city": "Paris"}\n```\nand more',
  '```python\nprint({"name": 1})\n```',
  '{"name": "weather", "arguments": {"city": "Par',
  `In a line: ${CALL}`,
  `a\`\`\`json\n[1, 2]\n\`\`\``,
  '[',
  '{}',
  '```',
  '{"name": broken}\n[1] {',
];
for (const whole of TEXTS) {
  Loose(`stays text: ${whole.slice(0, 30)}`, () => {
    for (const size of [whole.length, 1, 3]) assert.equal(read(whole, { size }), { text: whole, calls: [] });
  });
}

Loose('text is held back only while it may become a call', () => {
  const loose = new LooseCalls(['weather'], { parallel: true });
  const texts = ['Hello ', 'you.', '\nNew', ' line\n', '{"ci', 'ty": 5'].map((piece) => loose.push(piece).text);
  assert.equal(texts, ['Hello ', 'you.', '\nNew', ' line', '\n{"ci', 'ty": 5']);
});

Loose('without parallel calls only the first is one', () => {
  assert.equal(read(`${CALL}\n${CALL}`, { parallel: false }), { text: CALL, calls: [PARIS] });
});

Loose('white space after a fence is read in linear time', () => {
  // A pattern that can divide the space among several parts of it would need hours.
  const whole = `\`\`\`${' '.repeat(20_000)}x! \`\`\`json${' \n'.repeat(20_000)}x`;
  assert.equal(read(whole, { size: 1000 }), { text: whole, calls: [] });
});

Loose('a long JSON that never ends is given up', () => {
  const whole = `{"name": "weather", "arguments": {"city": "${'x'.repeat(100_000)}`;
  const loose = new LooseCalls(['weather'], { parallel: true });
  let text = '';
  for (let at = 0; at < whole.length; at += 1000) text += loose.push(whole.slice(at, at + 1000)).text;
  assert.ok(text.length > 90_000);
  assert.is(text + loose.finish().text, whole);
});

Loose.run();
