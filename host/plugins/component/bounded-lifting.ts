/**
 * Bytes of one call's arguments. A list's items can all point to the same bytes of a guest's memory, and each becomes a
 * value of its own in the heap of the thread, so that a few megabytes of memory would ask for terabytes of heap and end
 * the thread, with everybody in it.
 */
const maxLiftedBytes = 128 * 1024 * 1024;
/** What an item of a list costs besides the strings in it. */
const itemBytes = 64;

const decoder = /^ {2}const TEXT_DECODER_UTF8 = new TextDecoder\(\);\n/m;
const importFunction = /^ {2}const _trampoline\d+ = (?:async )?function\(.*?\) \{\n/gm;
const string = /(TEXT_DECODER_UTF8\.decode\(new Uint8Array\(memory\d+\.buffer, \w+, )(\w+)(?=\)\))/g;
const numbers = /(\.buffer\.slice\((\w+), \2 \+ )(\w+ \* \d+)(?=\))/g;
const list = /^( *)for \(let i = 0; i < (len\d+); i\+\+\) \{$/gm;

/** The glue that counts what it makes of a call's arguments, and throws when that is too much: the guest traps. */
export function boundLifting(glue: string): string {
  return glue
    .replace(
      decoder,
      (line) => `${line}  let _liftedBytes = 0;
  const _lift = (bytes) => {
    _liftedBytes += bytes;
    if (_liftedBytes > ${maxLiftedBytes}) throw new RangeError('the arguments of a call, or a result, have more than ${maxLiftedBytes} bytes');
    return bytes;
  };
`,
    )
    .replaceAll(importFunction, (line) => `${line}    _liftedBytes = 0;\n`)
    .replaceAll(string, '$1_lift($2)')
    .replaceAll(numbers, '$1_lift($3)')
    .replaceAll(list, (line, indent: string, length: string) => `${indent}_lift(${length} * ${itemBytes});\n${line}`);
}
