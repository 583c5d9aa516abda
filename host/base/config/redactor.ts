import { HIDDEN, isSecretName } from './describe.ts';
import type { Config } from './schema.ts';
import { isTree } from './values.ts';

/** Shorter values are not searched for, because they occur everywhere. Variables only may be secret, by their names. */
const LEAST_CHARS = 4;
const LEAST_CHARS_OF_VARIABLE = 8;

/** Names of variables whose values are secret, besides those of the configuration. */
const SECRET_VARIABLE = /(key|token|secret|passw(or)?d|credential|authorization|cookie|dsn)/i;

/** Forms of secrets that can come from anywhere: keys of this host and of others, headers, and parts of URLs. */
const FORMS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/(?<=\/\/)[^/@\s"']+@/g, `${HIDDEN}@`],
  [/([?&][\w.-]*(?:token|key|secret|password|signature|sig|auth)=)[^&#\s"']+/gi, `$1${HIDDEN}`],
  [/(#token=)[\w~-]+/g, `$1${HIDDEN}`],
  [/\b(bearer|basic) +[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/\b(aana_|hf_|sk-|ghp_|whsec_)[\w-]{8,}/g, HIDDEN],
];

/**
 * Returns a function that removes secrets from all texts of a value: the secrets of the configuration and of the
 * environment wherever they occur, and what has the form of a secret.
 */
export function redactorOf(config: Config | undefined, env: NodeJS.ProcessEnv): <T>(value: T) => T {
  const secrets = new Set<string>();
  const keep = (text: string): void => {
    for (const form of [text, encodeURIComponent(text)]) if (form.length >= LEAST_CHARS) secrets.add(form);
  };
  if (config) collect(config, '', keep);
  for (const [name, text = ''] of Object.entries(env)) {
    if (SECRET_VARIABLE.test(name) && text.length >= LEAST_CHARS_OF_VARIABLE) keep(text);
    for (const password of passwordsIn(text)) keep(password);
    if (text.startsWith('{')) collect(parsed(text), '', keep); // such as DB_CONFIG
  }
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  const redact = (text: string): string => {
    let clean = text;
    for (const secret of longestFirst) clean = clean.replaceAll(secret, HIDDEN);
    for (const [pattern, replacement] of FORMS) clean = clean.replaceAll(pattern, replacement);
    return clean;
  };
  return (value) => mapTexts(value, redact) as typeof value;
}

/** Calls `keep` with each secret text of a configuration. */
function collect(value: unknown, name: string, keep: (text: string) => void): void {
  if (typeof value === 'string') {
    if (isSecretName(name)) {
      keep(value);
      keep(value.slice(value.indexOf('=') + 1)); // a header as name=value
    }
    for (const password of passwordsIn(value)) keep(password);
  } else if (Array.isArray(value)) for (const item of value) collect(item, name, keep);
  else if (isTree(value)) for (const [key, inner] of Object.entries(value)) collect(inner, key, keep);
}

/** Returns the passwords of the URLs in a text. */
function passwordsIn(text: string): string[] {
  return [...text.matchAll(/\/\/[^/@\s:]*:([^/@\s]+)@/g)].map(([, password = '']) => password);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isTree(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), mapTexts(inner, change)]));
}
