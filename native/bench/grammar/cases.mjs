/** The forms that the benchmark compiles, texts that meet them, and texts that do not. */

const object = (properties, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const text = { type: 'string' };
const compact = (value) => JSON.stringify(value);
const spaced = (value) => JSON.stringify(value).replaceAll('":', '": ').replaceAll(',"', ', "');

const film = object({ title: text, year: { type: 'integer' }, rating: { type: 'number' }, seen: { type: 'boolean' } });
const order = object({
  id: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{6}$' },
  status: { enum: ['open', 'paid', 'shipped', 'returned', 'cancelled'] },
  customer: object({
    name: text,
    email: text,
    address: object({ street: text, city: text, country: { enum: ['DE', 'FR', 'NL', 'US'] } }),
  }),
  items: {
    type: 'array',
    minItems: 1,
    maxItems: 20,
    items: object({
      sku: text,
      count: { type: 'integer', minimum: 1, maximum: 99 },
      price: { type: 'number' },
      colour: { enum: ['red', 'green', 'blue'] },
    }),
  },
});
const tree = {
  $defs: { node: object({ name: text, children: { type: 'array', items: { $ref: '#/$defs/node' } } }) },
  $ref: '#/$defs/node',
};
const bounded = object({
  headline: { type: 'string', maxLength: 80 },
  tags: { type: 'array', items: { type: 'string', maxLength: 20 }, maxItems: 5 },
});

const VERBS = ['search', 'create', 'update', 'delete', 'list', 'share'];
const THINGS = ['file', 'event', 'contact', 'message', 'invoice', 'ticket', 'project', 'user'];
const tool = (verb, thing) =>
  object({
    name: { const: `${verb}_${thing}` },
    arguments: object(
      {
        [`${thing}_id`]: text,
        query: text,
        limit: { type: 'integer' },
        order: { enum: ['newest', 'oldest', 'largest'] },
        labels: { type: 'array', items: { type: 'string' } },
        notify: { type: 'boolean' },
      },
      [`${thing}_id`],
    ),
  });
const tools = { anyOf: VERBS.flatMap((verb) => THINGS.map((thing) => tool(verb, thing))) };

// Names as a customer list has them: many with the same beginnings.
const SYLLABLES = ['ka', 'ro', 'mi', 'ten', 'sol', 'ber', 'lin', 'das', 'no', 'ver'];
const choice = Array.from(
  { length: 1000 },
  (_, i) =>
    `${SYLLABLES[Math.floor(i / 100)]}${SYLLABLES[Math.floor(i / 10) % 10]}${SYLLABLES[i % 10]} ` +
    `${i % 7 === 0 ? 'GmbH' : 'Ltd'}`,
);

const films = [
  { title: 'The Third Man', year: 1949, rating: 8.1, seen: true },
  { title: 'Les Quatre Cents Coups', year: 1959, rating: 8, seen: false },
  { title: '東京物語 \u2013 "Tokyo Story"', year: 1953, rating: 8.2, seen: true },
];
const orders = [
  {
    id: 'ABC-001234',
    status: 'shipped',
    customer: {
      name: 'Ada Lovelace',
      email: 'ada@example.org',
      address: { street: '12 St James Square', city: 'London', country: 'NL' },
    },
    items: [
      { sku: 'lamp-7', count: 2, price: 19.99, colour: 'red' },
      { sku: 'desk', count: 1, price: 240, colour: 'green' },
    ],
  },
];
const trees = [
  {
    name: 'root',
    children: [
      { name: 'left', children: [] },
      { name: 'right', children: [{ name: 'deep', children: [{ name: 'deeper', children: [] }] }] },
    ],
  },
];
const calls = [
  {
    name: 'search_file',
    arguments: {
      file_id: 'f-19',
      query: 'minutes of the meeting',
      limit: 20,
      order: 'newest',
      labels: ['work', 'may'],
      notify: false,
    },
  },
  { name: 'share_ticket', arguments: { ticket_id: '4711', notify: true } },
];
const boundeds = [
  {
    headline: 'Parliament votes on the new budget after a long night of talks',
    tags: ['politics', 'budget', 'europe'],
  },
];
const anything = [{ a: [1, -2.5e3, null, true, { b: 'text with \\ and \u00fc' }], list: [[], {}, [[1], [2]]] }];

const both = (values) => values.flatMap((value) => [compact(value), spaced(value)]);

export const cases = [
  {
    name: 'flat object',
    form: { json: film },
    texts: both(films),
    others: [
      '{}',
      '{"title":"x","year":1.5,"rating":1,"seen":true}',
      '{"title":"x","year":1,"rating":1,"seen":1}',
      compact(films[0]).slice(0, -1),
    ],
  },
  {
    name: 'nested objects, enums and arrays',
    form: { json: order },
    texts: both(orders),
    others: [
      compact({ ...orders[0], status: 'lost' }),
      compact({ ...orders[0], items: [] }),
      compact({ ...orders[0], id: 'AB-001234' }),
    ],
  },
  {
    name: 'recursive tree',
    form: { json: tree },
    texts: both(trees),
    others: ['{"name":"x"}', '{"name":"x","children":[1]}', '{"name":"x","children":[{"name":"y","children":[]}'],
  },
  {
    name: '48 tools',
    form: { json: tools },
    texts: both(calls),
    others: [
      '{"name":"search_moon","arguments":{"moon_id":"1"}}',
      '{"name":"search_file","arguments":{"event_id":"1"}}',
    ],
  },
  {
    name: 'texts of limited length',
    form: { json: bounded },
    texts: both(boundeds),
    others: [
      compact({ headline: 'x'.repeat(81), tags: [] }),
      compact({ headline: '', tags: ['a', 'b', 'c', 'd', 'e', 'f'] }),
    ],
  },
  {
    name: 'any object',
    form: { json: { type: 'object' } },
    texts: both(anything),
    others: ['[]', '{"a":}', '{a:1}', '{"a":1,}'],
  },
  {
    name: 'pattern of an e-mail and a date',
    form: { regex: '[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(\\.[a-z]{2,10}){1,3} (19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]' },
    texts: ['ada.lovelace@mail.example.org 1843-09-05'.replace('1843', '1943'), 'x@y.de 2026-11-27'],
    others: ['ada 2026-11-27', 'x@y.de 2126-11-27', 'x@y.de 2026-11-2', 'A@y.de 2026-11-27'],
  },
  {
    name: 'choice of 1,000',
    form: { choice },
    texts: [choice[0], choice[517], choice[999]],
    others: ['karoka', 'kakaka ltd', `${choice[3]} `],
  },
];
