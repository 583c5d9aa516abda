import type { Budget } from './budget.ts';
import { type Finding, FINE, isAborted, type Issue, issueOf, ISSUE_STEPS } from './issues.ts';
import type { SchemaNode } from './node.ts';

/** Steps for checking one branch. */
const BRANCH_STEPS = 5;

/** Compiles `anyOf`, and `type` with several types: the first valid branch decides. */
export function anyOfNode(branches: readonly SchemaNode[]): SchemaNode {
  const [only] = branches;
  return {
    mayBeAbsent: branches.some((branch) => branch.mayBeAbsent),
    check(value, budget) {
      if (only && branches.length === 1) return only.check(value, budget);
      const findings: Finding[] = [];
      for (const branch of branches) {
        const finding = checkedIn(branch, value, budget);
        if (finding.issues.length === 0) return FINE;
        findings.push(finding);
      }
      const close = findings.filter((finding) => !isAborted(finding));
      return close.length === 1 ? close[0]! : noneFits(findings, budget);
    },
  };
}

/** Compiles `oneOf`: exactly one branch must be valid. */
export function oneOfNode(branches: readonly SchemaNode[]): SchemaNode {
  const [only] = branches;
  return {
    mayBeAbsent: branches.some((branch) => branch.mayBeAbsent),
    check(value, budget) {
      if (only && branches.length === 1) return only.check(value, budget);
      const findings = branches.map((branch) => checkedIn(branch, value, budget));
      const fitting = findings.filter(({ issues }) => issues.length === 0).length;
      if (fitting === 1) return FINE;
      return fitting === 0 ? noneFits(findings, budget) : noneFits([], budget);
    },
  };
}

/** Compiles keywords beside `$ref`, `anyOf`, `oneOf` or `allOf`: a value must match both. */
export function besideNode(left: SchemaNode, right: SchemaNode): SchemaNode {
  return {
    get mayBeAbsent() {
      return left.mayBeAbsent === true || right.mayBeAbsent === true;
    },
    check(value, budget) {
      const [mine, other] = [checkedIn(left, value, budget), checkedIn(right, value, budget)];
      if (mine.issues.length === 0) return other;
      return other.issues.length === 0 ? mine : { issues: [...mine.issues, ...other.issues] };
    },
  };
}

/** Compiles `allOf`. As for zod's intersections, an object of one branch may have the keys of another one. */
export function allOfNode(left: SchemaNode, right: SchemaNode): SchemaNode {
  return {
    check(value, budget) {
      const [mine, other] = [checkedIn(left, value, budget), checkedIn(right, value, budget)];
      if (mine.issues.length === 0 && other.issues.length === 0) return FINE;
      return { issues: together(mine.issues, other.issues) };
    },
  };
}

function checkedIn(branch: SchemaNode, value: unknown, budget: Budget): Finding {
  budget.spend(BRANCH_STEPS);
  budget.enter();
  const finding = branch.check(value, budget);
  budget.leave();
  return finding;
}

function noneFits(findings: readonly Finding[], budget: Budget): Finding {
  budget.spend(ISSUE_STEPS);
  return { issues: [issueOf('invalid_union', { errors: findings.map(({ issues }) => issues) })] };
}

/** Merges issues. An unknown key of one side is only an issue if the other side does not know it, either. */
function together(left: readonly Issue[], right: readonly Issue[]): Issue[] {
  const isOfKeys = ({ code, path, origin }: Issue): boolean =>
    (code === 'unrecognized_keys' && path.length === 0) ||
    (code === 'invalid_key' && origin === 'record' && path.length === 1);
  const keysOf = (issue: Issue): readonly string[] =>
    issue.code === 'unrecognized_keys' ? (issue['keys'] as string[]) : [String(issue.path[0])];
  const keysIn = (issues: readonly Issue[]): Set<string> => new Set(issues.filter(isOfKeys).flatMap(keysOf));
  const [mine, others] = [keysIn(left), keysIn(right)];
  const all = [...left, ...right];
  const wrong = all.filter((issue) => !isOfKeys(issue));
  const both = [...mine].filter((key) => others.has(key));
  if (both.length === 0) return wrong;
  const unrecognized = all.find((issue) => issue.code === 'unrecognized_keys' && isOfKeys(issue));
  const named = new Set(unrecognized ? keysOf(unrecognized) : []);
  const keys = both.filter((key) => named.has(key));
  const invalid = new Map(
    all
      .filter((issue) => issue.code === 'invalid_key' && isOfKeys(issue))
      .toReversed()
      .map((issue) => [String(issue.path[0]), issue]),
  );
  return [
    ...wrong,
    ...(unrecognized && keys.length > 0 ? [{ ...unrecognized, keys }] : []),
    ...both.flatMap((key) => (named.has(key) ? [] : (invalid.get(key) ?? []))),
  ];
}
