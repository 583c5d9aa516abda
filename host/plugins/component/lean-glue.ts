/**
 * The glue that jco generates, without what these components do not need. jco accounts for every call of an import as
 * the canonical ABI of asynchronous components asks for: two tasks, a subtask, their locks, a search for deadlocks.
 * Components here import functions of the synchronous ABI alone, and an instance runs one call at a time, so that none
 * of it decides anything; it took two thirds of a call. What remains is jco's own: how values are lifted and lowered,
 * how handles are lent, and that a guest cannot call out where it may not.
 */

/** A function `_trampoline7` that lifts a call's arguments, calls the host, and lowers the result. */
const importFunction =
  /^ {2}const (_trampoline\d+) = (async )?function\((.*?)\) \{\n([\s\S]*?)^ {2}\}\n(?= {2}\1\.fnName = )/gm;
/** A call of the host in it, with the bookkeeping before. */
const hostCall =
  /^ {4}const hostProvided = true;\n[\s\S]*?^ {4}let ret;\n\s*try \{\n\s*(?:(?:ret|const (hostRet\d+)) = )?(?:await +)?_withGlobalCurrentTaskMeta(?:Async)?\(\{\n[\s\S]*?fn: \(\) => _trackHostOperation\(\(\) => ([\s\S]*?)\),\n\s*\}\)\s*;\n/m;
/** What follows when the function has a result that can be an error; the marker's component traps with it. */
const caught = /^([\s\S]*?)^ {4}\} catch \(e\) \{\n([\s\S]*?)^ {4}\}\n/m;
/** What follows when it has none: any error is a trap. */
const trapping =
  /^[\s\S]*?^ {4}\} catch \(err\) \{[\s\S]*?(getOrCreateAsyncState\(\d+\)\.markTrapped\(err\);)[\s\S]*?throw err;\s*^ {4}\}\n/m;
const finished = /^ {4}task\.resolve\(\[.*\]\);\n {4}task\.exit\(\);\n/m;
/** How a core module gets the function: `let trampoline7 = _trampoline7.manuallyAsync ? … : …;`. */
const binding = /^ {2}let trampoline(\d+) = _trampoline\1\.manuallyAsync \?[\s\S]*?^ {2}\);\n/gm;
const componentOf = /^ {4}componentIdx: (\d+),$/m;

/** The glue with lean imports. What is not of the known shape stays as it was generated: right, and slower. */
export function leanGlue(generated: string): string {
  const glue = withoutTraces(generated);
  const components = new Map(
    [...glue.matchAll(binding)].map(([text, number]) => [`_trampoline${number}`, componentOf.exec(text)?.[1]]),
  );
  const lean = new Set<string>();
  return glue
    .replaceAll(
      importFunction,
      (whole, name: string, isAsync: string | undefined, parameters: string, body: string) => {
        const component = components.get(name);
        const leaned = component === undefined ? undefined : leanFunction(body, isAsync !== undefined);
        if (leaned === undefined) return whole;
        lean.add(name);
        return `  const ${name} = function(${parameters}) {\n    _checkMayLeave(${component});\n${leaned}  }\n`;
      },
    )
    .replaceAll(binding, (whole, number: string) => {
      const name = `_trampoline${number}`;
      return lean.has(name)
        ? `  let trampoline${number} = ${name}.manuallyAsync ? new WebAssembly.Suspending(${name}) : ${name};\n`
        : whole;
    });
}

function leanFunction(body: string, isAsync: boolean): string | undefined {
  const call = hostCall.exec(body);
  if (!call) return undefined;
  const [bookkeeping, hostReturn, expression] = call;
  const lift = body.slice(0, call.index);
  const rest = body.slice(call.index + bookkeeping.length);
  if (hostReturn === undefined) {
    const errors = trapping.exec(rest);
    if (!errors || isAsync) return undefined;
    const lower = unaccounted(rest.slice(errors[0].length));
    return (
      lower &&
      `${lift}    let ret;\n    try {\n      ret = ${expression};\n    } catch (err) {\n      ${errors[1]}\n      throw err;\n    }\n${lower}`
    );
  }
  const errors = caught.exec(rest);
  if (!errors) return undefined;
  const [handled, onValue, onError] = errors;
  const lower = unaccounted(rest.slice(handled.length));
  if (lower === undefined) return undefined;
  if (!isAsync)
    return `${lift}    let ret;\n    try {\n      const ${hostReturn} = ${expression};\n${onValue}    } catch (e) {\n${onError}    }\n${lower}`;
  // A value that is there is lowered at once: the guest is suspended only where it has to wait.
  return `${lift}    let ret;
    const lower = () => {
${lower}    };
    const onValue = (${hostReturn}) => {
${onValue}      return lower();
    };
    const onError = (e) => {
${onError}      return lower();
    };
    let returned;
    try {
      returned = ${expression};
    } catch (e) {
      return onError(e);
    }
    return returned instanceof Promise ? returned.then(onValue, onError) : onValue(returned);
`;
}

/** The lowering without the end of its tasks; undefined when it uses them besides. */
function unaccounted(lower: string): string | undefined {
  if (!finished.test(lower)) return undefined;
  const without = lower.replace(finished, '').replaceAll(/^ *if \(false\) _debugLog\([\s\S]*?\);\n/gm, '');
  return /\b(?:task|subtask|parentTask)\b/.test(without) ? undefined : without;
}

/** jco makes an object for each trace, and asks the environment whether to tell of it. */
function withoutTraces(glue: string): string {
  return glue.replaceAll(/^(\s*)_debugLog\(/gm, '$1if (false) _debugLog(');
}
