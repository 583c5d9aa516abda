import { larkRegex } from './lark.ts';
import { parseRegex } from './regex-parser.ts';

/** A grammar of texts: a regular expression, or a grammar in Lark's language. */
export interface TextGrammar {
  readonly syntax: 'regex' | 'lark';
  readonly definition: string;
}

/**
 * Returns a `pattern` of a JSON Schema that exactly the texts of a grammar match. Throws `UnusableStructure` for a
 * grammar that is not valid or that cannot bind the answers of a model.
 */
export function textPattern({ syntax, definition }: TextGrammar): string {
  const regex = syntax === 'regex' ? withoutAnchors(definition) : larkRegex(definition, syntax);
  const pattern = `^(?:${regex})$`;
  parseRegex(pattern, syntax, false);
  return pattern;
}

/** Returns an expression without anchors at its ends, which say nothing about whole texts. */
function withoutAnchors(regex: string): string {
  let slashes = 0;
  while (regex.at(-2 - slashes) === '\\') slashes += 1;
  const isAnchor = regex.endsWith('$') && slashes % 2 === 0;
  return regex.slice(regex.startsWith('^') ? 1 : 0, isAnchor ? -1 : undefined);
}
