"""Times of XGrammar for the grammars and the vocabulary that main.mjs writes to the standard input. Prints JSON.

Calls the C++ core as the classes of the package do, with the package's defaults where nothing else is said. The masks are
arrays of numpy. All times are processor times.
"""

import importlib.metadata
import importlib.util
import json
import sys
import time
import types

import numpy

# The package itself imports torch and transformers, for tensors and tokenisers that are not used here.
SPEC = importlib.util.find_spec("xgrammar")
PACKAGE = types.ModuleType("xgrammar")
PACKAGE.__path__ = list(SPEC.submodule_search_locations)
sys.modules["xgrammar"] = PACKAGE
from xgrammar import load_binding  # noqa: E402,F401
from xgrammar.base import _core  # noqa: E402

REPEATS = 10
ONE_THREAD = 1


def microseconds():
    return time.process_time_ns() / 1000


def matcher_of(compiled):
    without_stop_token, rollback, temperature = False, -1, None
    return _core.GrammarMatcher(compiled, None, without_stop_token, rollback, temperature)


def takes(compiled, text):
    matcher = matcher_of(compiled)
    return bool(matcher.accept_string(text, False)) and bool(matcher.is_completed())


def mixed(tokens):
    """The sum that engine.cc makes of the allowed tokens."""
    value = (tokens.astype(numpy.uint64) + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
    return int(numpy.sum(value ^ (value >> numpy.uint64(29)), dtype=numpy.uint64))


class Masks:
    def __init__(self, n_vocab, ends):
        self.ends = ends
        self.n_vocab = n_vocab
        self.mask = numpy.zeros((1, (n_vocab + 31) // 32), dtype=numpy.int32)
        self.logits = numpy.random.default_rng(7).normal(0, 2, (1, n_vocab)).astype(numpy.float32)
        self.scratch = self.logits.copy()

    def apply(self):
        width = self.mask.shape[1]
        _core.kernels.apply_token_bitmask_inplace_cpu(
            self.scratch.ctypes.data, (1, self.n_vocab), (self.n_vocab, 1), self.mask.ctypes.data, (1, width), (width, 1), self.n_vocab, None, "float32"
        )

    def allowed(self):
        bits = numpy.unpackbits(self.mask.view(numpy.uint8)[0], bitorder="little")[: self.n_vocab]
        bits[self.ends] = 0
        return numpy.nonzero(bits)[0]

    def walk(self, compiled, tokens, repeats):
        matcher = matcher_of(compiled)
        first, again, applied, counts, sums = [], [], [], [], []
        for token in [*tokens, None]:
            begin = microseconds()
            matcher.fill_next_token_bitmask(self.mask, 0, False)
            first.append(microseconds() - begin)
            begin = microseconds()
            for _ in range(repeats):
                matcher.fill_next_token_bitmask(self.mask, 0, False)
            again.append((microseconds() - begin) / repeats)
            self.scratch[:] = self.logits
            begin = microseconds()
            matcher.fill_next_token_bitmask(self.mask, 0, False)
            self.apply()
            applied.append(microseconds() - begin)
            allowed = self.allowed()
            counts.append(len(allowed))
            sums.append(str(mixed(allowed)))
            if token is not None and not matcher.accept_token(token, False):
                return None
        return {"first_us": first, "again_us": again, "applied_us": applied, "allowed": counts, "sums": sums}


def least(one, other):
    if one is None or other is None:
        return None
    times = {name: [min(pair) for pair in zip(one[name], other[name])] for name in ("first_us", "again_us", "applied_us")}
    return {**one, **times}


def measure(masks, compile_it, case, rounds, repeats=REPEATS):
    best, walks, compiled = float("inf"), None, None
    try:
        for _ in range(rounds):
            begin = microseconds()
            compiled = compile_it()
            best = min(best, microseconds() - begin)
            these = [masks.walk(compiled, tokens, repeats) for tokens in case["tokens"]]
            walks = these if walks is None else [least(*pair) for pair in zip(walks, these)]
    except Exception as error:
        return {"refused": str(error).strip().splitlines()[-1]}
    return {
        "compile_us": best,
        "bytes": compiled.memory_size_bytes(),
        "walks": walks,
        "takes": [takes(compiled, text) for text in case["texts"]],
        "takes_others": [takes(compiled, text) for text in case["others"]],
    }


def own_grammar(compiler, form):
    """XGrammar's own grammar of a form; none for a choice, which it has no function for."""
    if "json" in form:
        any_whitespace, indent, separators, strict, most_whitespace, any_order = True, None, None, True, None, False
        schema = json.dumps(form["json"])
        return lambda: compiler.compile_json_schema(schema, any_whitespace, indent, separators, strict, most_whitespace, any_order)
    if "regex" in form:
        return lambda: compiler.compile_regex(form["regex"])
    return None


def call_overhead(compiler):
    matcher = matcher_of(compiler.compile_grammar_from_strings('root ::= "a"', "root"))
    begin = microseconds()
    for _ in range(1000):
        matcher.is_completed()
    return (microseconds() - begin) / 1000


def main():
    asked = json.load(sys.stdin)
    pieces = [bytes.fromhex(piece) for piece in asked["pieces"]]
    begin = microseconds()
    raw, prefix_space = 0, False
    tokenizer = _core.TokenizerInfo(pieces, raw, len(pieces), asked["ends"], prefix_space)
    tokenizer_us = microseconds() - begin
    is_cached, most_bytes = False, -1
    compiler = _core.GrammarCompiler(tokenizer, ONE_THREAD, is_cached, most_bytes)
    masks = Masks(len(pieces), asked["ends"])
    results = []
    for case in asked["cases"]:
        compile_own = own_grammar(compiler, case["form"])
        # The engine's grammars take XGrammar tens of milliseconds for each token, so they are measured once, with one text.
        first = {**case, "tokens": case["tokens"][:1]}
        same = measure(masks, lambda case=case: compiler.compile_grammar_from_strings(case["grammar"], "root"), first, 1, 1)
        results.append({"same_grammar": same, "own_grammar": compile_own and measure(masks, compile_own, case, asked["rounds"])})
    version = importlib.metadata.version("xgrammar")
    print(json.dumps({"version": version, "tokenizer_us": tokenizer_us, "call_overhead_us": call_overhead(compiler), "cases": results}))


main()
