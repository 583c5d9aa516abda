declare module 'whatwg-url' {
  export class URL {
    constructor(url: string, base?: string);
    static parse(url: string, base?: string): URL | null;
    readonly href: string;
    readonly protocol: string;
    readonly username: string;
    readonly password: string;
  }
  export const URLSearchParams: unknown;
}
declare module 'punycode/punycode.es6.js' {
  export function toASCII(domain: string): string;
  export function toUnicode(domain: string): string;
}
