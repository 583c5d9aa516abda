/** Weight types in order of preference. Types that are small enough for most machines come first. */
const PREFERRED = ['q4_k_m', 'q8_0', 'q5_k_m', 'q4_k_s', 'q4_0', 'q4_1', 'q6_k', 'q5_0', 'f16', 'bf16'];

/** Returns the best GGUF file of a repository with several; undefined if no GGUF file is in one piece. */
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
