// Runs in Node's thread for module hooks, on versions of Node without support for TypeScript.
import { readFile } from 'node:fs/promises';
import type { LoadHook } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transform } from 'rolldown/utils';

/** Removes the types from `.ts` and `.mts` files, like later versions of Node. */
export const load: LoadHook = async (url, context, nextLoad) => {
  if (!/^file:.*\.m?ts$/.test(url)) return nextLoad(url, context);
  const file = fileURLToPath(url);
  const { code, map, errors } = await transform(file, await readFile(file, 'utf8'), {
    sourcemap: true,
    typescript: { onlyRemoveTypeImports: true },
  });
  if (errors[0]) throw new SyntaxError(`${file}: ${errors[0].message}`);
  const sourceMap = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  return { format: 'module', source: `${code}\n${sourceMap}\n`, shortCircuit: true };
};
