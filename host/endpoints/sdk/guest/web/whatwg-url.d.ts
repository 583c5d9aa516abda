declare module 'whatwg-url' {
  export const URL: unknown;
  export const URLSearchParams: unknown;
}
declare module 'punycode/punycode.es6.js' {
  export function toASCII(domain: string): string;
  export function toUnicode(domain: string): string;
}
