/**
 * Maximum bytes of the arguments of one call. All items of a list can point to the same bytes of a guest's memory, and
 * each item becomes a separate value in the heap of the thread. A few megabytes of memory could so become terabytes of
 * heap and end the thread with all of its guests.
 */
const maxLiftedBytes = 128 * 1024 * 1024;
/** Bytes that an item of a list costs without the strings in it. */
const itemBytes = 64;

const decoder = /^ {2}const TEXT_DECODER_UTF8 = new TextDecoder\(\);\n/m;
const importFunction = /^ {2}const _trampoline\d+ = (?:async )?function\(.*?\) \{\n/gm;
const string = /(TEXT_DECODER_UTF8\.decode\(new Uint8Array\(memory\d+\.buffer, \w+, )(\w+)(?=\)\))/g;
const wideString = /(utf16Decoder\.decode\(new Uint16Array\(memory\d+\.buffer, \w+, )(\w+)(?=\)\))/g;
const numbers = /(\.buffer\.slice\((\w+), \2 \+ )(\w+ \* \d+)(?=\))/g;
const list = /^( *)for \(let i = 0; i < (len\d+); i\+\+\) \{$/gm;

/**
 * Returns glue that counts the values that it creates for a call's arguments. It throws when they are over the limit,
 * and the guest traps.
 */
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
    .replaceAll(wideString, '$1_lift(2 * $2) / 2')
    .replaceAll(numbers, '$1_lift($3)')
    .replaceAll(list, (line, indent: string, length: string) => `${indent}_lift(${length} * ${itemBytes});\n${line}`);
}
