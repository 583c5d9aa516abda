/** Weight types in the order in which they are preferred: small enough for most machines first. */
const PREFERRED = ['q4_k_m', 'q8_0', 'q5_k_m', 'q4_k_s', 'q4_0', 'q4_1', 'q6_k', 'q5_0', 'f16', 'bf16'];

/** The GGUF to take from a repository that has several; undefined when it has none in one piece. */
export function chooseGguf(files: readonly string[]): string | undefined {
  const candidates = files.filter(
    (file) => /\.gguf$/i.test(file) && !/-\d{5}-of-\d{5}\.gguf$/i.test(file) && !/(^|\/)mmproj/i.test(file),
  );
  for (const type of PREFERRED) {
    const found = candidates.find((file) => file.toLowerCase().endsWith(`${type}.gguf`));
    if (found !== undefined) return found;
  }
  return candidates.toSorted()[0];
}
