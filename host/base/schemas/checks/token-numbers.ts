import * as z from 'zod/mini';

/** The largest number of a token. */
const LARGEST = 2 ** 31 - 1;

/** The number of a token. */
const TokenNumber = z.int().check(z.minimum(0), z.maximum(LARGEST));

const isTokenNumber = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LARGEST;

const List: z.core.$constructor<z.ZodMiniArray> = z.ZodMiniArray;
type TokenList = z.ZodMiniArray<typeof TokenNumber>;

/**
 * A list whose items are found right or wrong by one loop. Zod makes objects for each item, which takes half a second
 * for a million of them. The first wrong item is told.
 */
const TokenList = z.core.$constructor<TokenList, TokenList['_zod']['def']>('TokenList', (list, def) => {
  List.init(list, def);
  const parse = list._zod.parse;
  list._zod.parse = (payload, context) => {
    const { value } = payload;
    if (!Array.isArray(value)) return parse(payload, context);
    const wrong = value.findIndex((item) => !isTokenNumber(item));
    if (wrong === -1) return payload;
    const { issues } = TokenNumber._zod.run({ value: value[wrong], issues: [] }, context) as z.core.ParsePayload;
    payload.issues.push(...z.core.util.prefixIssues(wrong, issues));
    return payload;
  };
});

/** A list of the numbers of tokens. */
export const TokenNumbers: TokenList = new TokenList({ type: 'array', element: TokenNumber });
